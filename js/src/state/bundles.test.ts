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

const BYTES = Uint8Array.of(31, 139);
const got = async () => BYTES;

test("code is unpacked once, whatever the number of widgets that ask for it", async () => {
  const unpack = vi.fn(async () => "panels");
  const bundle = new Bundle<string>();
  const [one, other] = [bundle.from(got, unpack), bundle.from(got, unpack)];
  expect(one.arrived.value).toEqual({});
  expect(unpack).not.toHaveBeenCalled();
  await Promise.all([one.ask(), one.ask(), other.ask()]);
  await other.ask();
  expect(other.arrived.value).toEqual({ code: "panels" });
  expect(unpack.mock.calls).toEqual([[BYTES]]);
});

test("what failed says why, and is tried again when it is asked for again", async () => {
  const get = vi.fn(got).mockRejectedValueOnce(new Error("no kernel"));
  const unpack = vi.fn(async () => "panels").mockRejectedValueOnce(new Error("damaged"));
  const later = new Bundle<string>().from(get, unpack);
  for (const expected of [{ problem: "no kernel" }, { problem: "damaged" }, { code: "panels" }]) {
    await later.ask();
    expect(later.arrived.value).toEqual(expected);
  }
});

test("who asks while code is being loaded has it afterwards, too", async () => {
  let come = (_: Uint8Array): void => {};
  const bytes = new Promise<Uint8Array>((resolve) => {
    come = resolve;
  });
  const later = new Bundle<string>().from(
    () => bytes,
    async () => "code",
  );
  void later.ask();
  const second = later.ask().then(() => later.arrived.value.code);
  come(new Uint8Array());
  expect(await second).toBe("code");
});

test("a widget that has the bytes waits for no other, and unpacks for all", async () => {
  const bundle = new Bundle<string>();
  let giveUp = (_: Error) => {};
  const busy = new Promise<Uint8Array>((_, reject) => {
    giveUp = reject;
  });
  const waiting = bundle.from(
    () => busy,
    async () => "never",
  );
  const asked = waiting.ask();
  await bundle.from(got, async () => "panels").ask();
  expect(waiting.arrived.value).toEqual({ code: "panels" });
  giveUp(new Error("no kernel"));
  await asked;
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
