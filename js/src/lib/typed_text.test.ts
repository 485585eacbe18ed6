import { describe, expect, test } from "vitest";
import { grouped, readQuantity, spokenNumber, unitOf } from "./typed_text.ts";

describe("readQuantity", () => {
  test.each([
    ["250", "µs", 250],
    [" 5ms ", "µs", 5000],
    ["2 s", "µs", 2_000_000],
    ["1.5 min", "µs", 90_000_000],
    ["3 us", "µs", 3],
    ["3 μs", "µs", 3], // the Greek letter
    ["3 µs", "µs", 3], // the micro sign
    ["100 ns", "µs", 1],
    ["1500 ns", "µs", 2],
    ["3MB", "B", 3_000_000],
    ["1 GiB", "B", 1_073_741_824],
    ["4 kib", "B", 4096],
    ["7b", "B", 7],
    ["1.5k", "", 1500],
    ["2M", "", 2_000_000],
    ["2.5b", "", 2_500_000_000],
    ["1e6", "", 1_000_000],
    ["1,234,567", "", 1_234_567],
    ["1,234.5k", "", 1_234_500],
    ["1_000", "", 1000],
    [".5k", "", 500],
    ["-1", "", -1],
    ["0", "", 0],
    ["9007199254740991", "", 9_007_199_254_740_991],
  ] as const)("%j in %j is %d", (text, unit, value) => {
    expect(readQuantity(text, unit, -1)).toEqual({ value });
  });

  test.each([
    ["", "µs", "no number: type 250, 5 ms or 2 s"],
    ["fast", "µs", "no number: type 250, 5 ms or 2 s"],
    ["5 MB", "µs", "no number: type 250, 5 ms or 2 s"],
    ["5 ms", "B", "no number: type 512, 3 MB or 1 GiB"],
    ["1,5", "", "no number: type 100, 1.5k or 2M"],
    ["1..5", "", "no number: type 100, 1.5k or 2M"],
    ["constructor", "", "no number: type 100, 1.5k or 2M"],
    ["5 constructor", "", "no number: type 100, 1.5k or 2M"],
    ["-3", "", "-3 is less than 0"],
    ["9007199254740993", "", "too large: it would not stay exact"],
    ["1e99", "", "too large: it would not stay exact"],
  ] as const)("%j in %j is refused", (text, unit, reason) => {
    expect(readQuantity(text, unit, 0)).toEqual({ reason });
  });
});

test.each([
  ["min_micros", "µs"],
  ["min_accelerator_micros", "µs"],
  ["min_peak_bytes", "B"],
  ["min_float_ops", ""],
  ["step", ""],
])("%s counts %j", (option, unit) => {
  expect(unitOf(option)).toBe(unit);
});

test.each([
  [1_234_567, "1,234,567"],
  [-1, "-1"],
  [41_200_000_000, "41,200,000,000"],
])("%d is grouped as %s", (value, text) => {
  expect(grouped(value)).toBe(text);
  expect(readQuantity(text, "", -1)).toEqual({ value });
});

test.each([
  [0, "µs", "0 µs"],
  [250, "µs", "250 µs"],
  [1500, "µs", "1.5 ms"],
  [5e9, "µs", "5,000 s"],
  [3_000_000, "B", "3 MB"],
  [999, "B", "999 B"],
  [2e9, "", "2 G"],
  [12, "", "12"],
] as const)("%d %s is spoken as %s", (value, unit, text) => {
  expect(spokenNumber(value, unit)).toBe(text);
});
