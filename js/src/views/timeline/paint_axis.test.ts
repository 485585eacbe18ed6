import { expect, test } from "vitest";
import { markDistance, markText } from "./paint_axis.ts";

test.each([
  [1000, 10, 100],
  [1000, 6, 200],
  [1000, 3, 500],
  [1001, 1, 2000],
  [7, 10, 1],
  [4_300_000, 12, 500_000],
])("%d ns with at most %d marks: every %d ns", (length, most, distance) => {
  expect(markDistance(length, most)).toBe(distance);
});

test.each([
  [0, 50_000, "0"],
  [1_250_000, 50_000, "1.25 ms"],
  [1_300_000, 100_000, "1.3 ms"],
  [2_000_000, 1_000_000, "2 ms"],
  [20_000, 5000, "20 µs"],
  [500, 500, "500 ns"],
  [2_000_500, 500, "2.0005 ms"],
  [3_000_000_000, 500_000_000, "3.0 s"],
])("%d ns among marks %d ns apart is %s", (nanos, distance, text) => {
  expect(markText(nanos, distance)).toBe(text);
});
