import { describe, expect, test } from "vitest";
import { formatMemory, formatNumber, formatShape, formatTime } from "./format.ts";

const LARGEST_INT64 = 2n ** 63n - 1n; // 9,223,372,036,854,775,807

describe("formatNumber", () => {
  test.each([
    [0, "0"],
    [999, "999"],
    [1000, "1.00k"],
    [1234, "1.23k"],
    [999_994, "999.99k"],
    [999_999, "1000.00k"],
    [1_000_000, "1.00m"],
    [1_234_567, "1.23m"],
    [1_000_000_000, "1.00b"],
    [25_557_032_000, "25.56b"],
    [-1, "-1"],
    [-123_456, "-123456"],
  ])("%d is printed as %s", (count, text) => {
    expect(formatNumber(count)).toBe(text);
    expect(formatNumber(BigInt(count))).toBe(text);
  });

  test("a count beyond 2^53 keeps its digits", () => {
    expect(formatNumber(LARGEST_INT64)).toBe("9223372036.85b");
    expect(formatNumber(-LARGEST_INT64)).toBe("-9223372036854775807");
  });
});

describe("formatTime", () => {
  test.each([
    [0, "0us"],
    [999, "999us"],
    [1000, "1.00ms"],
    [1234, "1.23ms"],
    [999_999, "1000.00ms"],
    [1_000_000, "1.00sec"],
    [61_500_000, "61.50sec"],
    [-5, "-5us"],
  ])("%d microseconds are printed as %s", (micros, text) => {
    expect(formatTime(micros)).toBe(text);
    expect(formatTime(BigInt(micros))).toBe(text);
  });
});

describe("formatMemory", () => {
  test.each([
    [0, "0B"],
    [999, "999B"],
    [1000, "1.00KB"],
    [1024, "1.02KB"],
    [1_000_000, "1.00MB"],
    [16_777_216, "16.78MB"],
    [5_000_000_000, "5000.00MB"],
    [-8, "-8B"],
  ])("%d bytes are printed as %s", (bytes, text) => {
    expect(formatMemory(bytes)).toBe(text);
    expect(formatMemory(BigInt(bytes))).toBe(text);
  });

  test("the largest int64 keeps its digits", () => {
    expect(formatMemory(LARGEST_INT64)).toBe("9223372036854.78MB");
  });
});

describe("rounding is C's", () => {
  test.each([
    [1_125, "1.12k"],
    [1_375, "1.38k"],
    [1_625, "1.62k"],
    [1_875, "1.88k"],
    [999_125, "999.12k"],
  ])("of two equally near hundredths the even one: %d is %s", (count, text) => {
    expect(formatNumber(count)).toBe(text);
  });

  test.each([
    [1_005, "1.00k"], // 1.0049999999999998934
    [1_015, "1.01k"], // 1.0149999999999999023
    [1_025, "1.02k"], // 1.0249999999999999112
    [1_035, "1.03k"], // 1.0349999999999999201
    [1_045, "1.04k"], // 1.0449999999999999289
    [1_055, "1.05k"], // 1.0549999999999999378
    [1_115, "1.11k"], // 1.1149999999999999112
    [4_035, "4.04k"], // 4.0350000000000001421
  ])("otherwise what the double itself is nearer to: %d is %s", (count, text) => {
    expect(formatNumber(count)).toBe(text);
  });

  test("a tie among billions of megabytes", () => {
    expect(formatMemory(4_000_000_000_125_000n)).toBe("4000000000.12MB");
  });
});

describe("formatShape", () => {
  test.each([
    [[], ""],
    [[1], "1"],
    [[7, 7, 3, 64], "7x7x3x64"],
    [[-1, 10], "-1x10"],
    [[2n, 3n], "2x3"],
  ])("%s is printed as %s", (dimensions, text) => {
    expect(formatShape(dimensions)).toBe(text);
  });
});
