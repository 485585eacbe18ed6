import { expect, test } from "vitest";
import { rangeText, useText } from "./busy_text.ts";

const USE = {
  device: 0,
  operations: 1234,
  busy: 630_000,
  idle: 370_000,
  work: 882_000,
  longestGap: { from: 5, to: 120_005 },
};

test("what a device did in all of the time", () => {
  expect(useText(USE)).toBe("63 % busy · longest gap 120 µs · 1.40 ops at once · 1,234 ops");
});

test("a device that did nothing", () => {
  const use = { device: 0, operations: 0, busy: 0, idle: 0, work: 0, longestGap: null };
  expect(useText(use)).toBe("0 % busy · no gap · 0 ops");
});

test("what it did in a range", () => {
  expect(rangeText({ ...USE, operations: 1 })).toBe("1 op, 63 % busy, 882 µs of work, 370 µs idle");
});
