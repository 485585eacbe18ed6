//

import { expect, test, vi } from "vitest";
import type { Assets } from "../data/model.ts";
import { Bundle, loadPanels, once } from "./bundles.ts";

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
  const pictures = await loadPanels<Record<string, unknown>>(await assetsOf(BUNDLE), LENT);
  expect(pictures.given).toBe(LENT);
  expect(pictures.name).toBe("µ");
});

test("a bundle that is cut off says so", async () => {
  const whole = await assetsOf(BUNDLE);
  const { buffer, byteOffset, byteLength } = whole.pictures;
  const cut = { ...whole, pictures: new DataView(buffer, byteOffset, byteLength - 20) };
  await expect(loadPanels(cut, LENT)).rejects.toThrow("what draws it is damaged or incomplete");
});

test("what no page lets be imported says why, and what does it", async () => {
  await expect(loadPanels(await assetsOf("export default ("), LENT)).rejects.toThrow(
    "widget.save_report(path)",
  );
});

test("what comes later is loaded once, however often it is asked for", async () => {
  const load = vi.fn(async () => "pictures");
  const later = new Bundle(load);
  expect(later.arrival.value).toEqual({});
  expect(load).not.toHaveBeenCalled();
  await Promise.all([later.ask(), later.ask()]);
  await later.ask();
  expect(later.arrival.value).toEqual({ value: "pictures" });
  expect(load).toHaveBeenCalledTimes(1);
});

test("what failed says why, and is tried again when it is asked for again", async () => {
  const load = vi.fn(async () => "pictures").mockRejectedValueOnce(new Error("no kernel"));
  const later = new Bundle(load);
  await later.ask();
  expect(later.arrival.value).toEqual({ problem: "no kernel" });
  await later.ask();
  expect(later.arrival.value).toEqual({ value: "pictures" });
});

test("a promise is kept for all, a broken one for nobody", async () => {
  const load = vi.fn(async () => 1).mockRejectedValueOnce(new Error("gone"));
  const loaded = once(load);
  await expect(Promise.all([loaded(), loaded()])).rejects.toThrow("gone");
  expect(load).toHaveBeenCalledTimes(1);
  expect(await Promise.all([loaded(), loaded(), loaded()])).toEqual([1, 1, 1]);
  expect(load).toHaveBeenCalledTimes(2);
});
