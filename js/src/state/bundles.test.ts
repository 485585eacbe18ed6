import { expect, test } from "vitest";
import type { Assets } from "../data/model.ts";
import { loadedPictures } from "./bundles.ts";

const LENT = ["a function", "a class"];
const BUNDLE = "export default function(lent){ return { given: lent, name: 'µ' } }";

async function assetsOf(source: string): Promise<Assets> {
  const stream = new Blob([source]).stream().pipeThrough(new CompressionStream("gzip"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  // As a buffer that came with other bytes before it.
  const message = new Uint8Array(packed.length + 5);
  message.set(packed, 5);
  return { pictures: new DataView(message.buffer, 5), charts: {}, page: "" };
}

test("the bundle is given this widget's own modules", async () => {
  const pictures = (await loadedPictures(await assetsOf(BUNDLE), LENT)) as unknown as Record<string, unknown>;
  expect(pictures.given).toBe(LENT);
  expect(pictures.name).toBe("µ");
});

test("a bundle that is cut off says so", async () => {
  const whole = await assetsOf(BUNDLE);
  const { buffer, byteOffset, byteLength } = whole.pictures;
  const cut = { ...whole, pictures: new DataView(buffer, byteOffset, byteLength - 20) };
  await expect(loadedPictures(cut, LENT)).rejects.toThrow("what draws it is damaged or incomplete");
});

test("what no page lets be imported says why, and what does it", async () => {
  await expect(loadedPictures(await assetsOf("export default ("), LENT)).rejects.toThrow(
    "widget.save_report(path)",
  );
});
