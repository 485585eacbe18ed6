import { expect, test, vi } from "vitest";
import { Bundle, moduleOf, once } from "./bundles.ts";

const SOURCE = "export const name = 'µ';";

async function packed(source: string): Promise<DataView> {
  const stream = new Blob([source]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  // As a buffer that came with other bytes before it.
  const message = new Uint8Array(bytes.length + 5);
  message.set(bytes, 5);
  return new DataView(message.buffer, 5);
}

test("packed code is a module", async () => {
  expect((await moduleOf<{ name: string }>(await packed(SOURCE))).name).toBe("µ");
});

test("code that is cut off says so", async () => {
  const { buffer, byteOffset, byteLength } = await packed(SOURCE);
  const cut = new DataView(buffer, byteOffset, byteLength - 20);
  await expect(moduleOf(cut)).rejects.toThrow("its code is damaged or incomplete");
});

test("what no page lets be imported says why, and what does it", async () => {
  await expect(moduleOf(await packed("export default ("))).rejects.toThrow("widget.save_report(path)");
});

test("code is loaded once, whatever the number of widgets that ask for it", async () => {
  const load = vi.fn(async () => "panels");
  const bundle = new Bundle<string>();
  const [one, other] = [bundle.from(load), bundle.from(load)];
  expect(one.arrived.value).toEqual({});
  expect(load).not.toHaveBeenCalled();
  await Promise.all([one.ask(), one.ask(), other.ask()]);
  await other.ask();
  expect(other.arrived.value).toEqual({ code: "panels" });
  expect(load).toHaveBeenCalledTimes(1);
});

test("what failed says why, and is tried again when it is asked for again", async () => {
  const load = vi.fn(async () => "panels").mockRejectedValueOnce(new Error("no kernel"));
  const later = new Bundle<string>().from(load);
  await later.ask();
  expect(later.arrived.value).toEqual({ problem: "no kernel" });
  await later.ask();
  expect(later.arrived.value).toEqual({ code: "panels" });
});

test("a widget that has the code at hand loads it for one that waits in vain", async () => {
  const bundle = new Bundle<string>();
  const waiting = bundle.from(() => Promise.reject(new Error("no kernel")));
  const other = bundle.from(async () => "panels");
  await Promise.all([waiting.ask(), other.ask()]);
  expect(waiting.arrived.value).toEqual({ code: "panels" });
});

test("a promise is kept for all, a broken one for nobody", async () => {
  const load = vi.fn(async () => 1).mockRejectedValueOnce(new Error("gone"));
  const loaded = once(load);
  await expect(Promise.all([loaded(), loaded()])).rejects.toThrow("gone");
  expect(load).toHaveBeenCalledTimes(1);
  expect(await Promise.all([loaded(), loaded(), loaded()])).toEqual([1, 1, 1]);
  expect(load).toHaveBeenCalledTimes(2);
});
