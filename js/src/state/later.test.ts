import { expect, test, vi } from "vitest";
import { Bundle, once } from "./later.ts";

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
