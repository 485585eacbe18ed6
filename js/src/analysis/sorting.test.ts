import { expect, test } from "vitest";
import { sortedByKey } from "./sorting.ts";

test("keys of any size are sorted, equal ones stay in order", () => {
  const keys = Float64Array.of(2 ** 52, 5, 70_000, 5, 2 ** 33, 0, 2 ** 52 - 1);
  expect([...sortedByKey(Int32Array.of(0, 3, 1, 2, 4, 5, 6), keys)]).toEqual([5, 3, 1, 2, 4, 6, 0]);
});

test("only the positions that are given are sorted", () => {
  expect([...sortedByKey(Int32Array.of(2, 0), Float64Array.of(1, 9, 0))]).toEqual([2, 0]);
});

test("as a comparison sort does", () => {
  const keys = Float64Array.from({ length: 5000 }, (_, index) => (index * 7_919_317) % 1_000_003);
  const order = Int32Array.from(keys.keys());
  const compared = order.slice().sort((one, other) => (keys[one] as number) - (keys[other] as number));
  expect(sortedByKey(order, keys)).toEqual(compared);
});
