import { expect, test } from "vitest";
import {
  exact,
  share,
  short,
  shortBytes,
  shortCount,
  shortTime,
  shortUnits,
  visible,
  visibleLines,
} from "./format.ts";

test.each([
  [0, "0 µs"],
  [0.35, "350 ns"],
  [0.0005, "0.50 ns"],
  [1, "1 µs"],
  [1.5, "1.50 µs"],
  [55, "55 µs"],
  [999.94, "999.9 µs"],
  [999.96, "1.00 ms"],
  [1000, "1 ms"],
  [412_600, "412.6 ms"],
  [55_012.345, "55.0 ms"],
  [2_500_000, "2.50 s"],
  [7_200_000_000, "7200.0 s"],
])("%d microseconds are %j", (micros, text) => {
  expect(shortTime(micros)).toBe(text);
});

test.each([
  [0, "0 B"],
  [512, "512 B"],
  [999, "999 B"],
  [1000, "1 kB"],
  [318_400_000, "318.4 MB"],
  [-2048, "-2.05 kB"],
])("%d bytes are %j", (bytes, text) => {
  expect(shortBytes(bytes)).toBe(text);
});

test.each([
  [0, "0"],
  [0.5, "0.5"],
  [12.4, "12"],
  [7904, "7,904"],
  [99_999, "99,999"],
  [100_000, "100 k"],
  [41_200_000_000, "41.2 G"],
])("a count of %d is %j", (count, text) => {
  expect(shortCount(count)).toBe(text);
});

test("units are written out", () => {
  expect(shortUnits(6_040_000_000, "FLOP")).toBe("6.04 GFLOP");
  expect(shortUnits(12, "FLOP/s")).toBe("12 FLOP/s");
});

test("shares are of something", () => {
  expect([share(55, 412.6), share(1, 0), share(0, 7)]).toEqual(["13.3 %", "–", "–"]);
});

test("measures bring their units", () => {
  expect([short("cpu_micros", 1500), short("peak_bytes", 1500), short("runs", 1500)]).toEqual([
    "1.50 ms",
    "1.50 kB",
    "1,500",
  ]);
  expect([exact("micros", 55_012.345), exact("params", 7), exact("runs", 1e6)]).toEqual([
    "55,012.345 µs",
    "7 parameters",
    "1,000,000 runs",
  ]);
});

test.each([
  ["conv1/λ 日本 😀", "conv1/λ 日本 😀"],
  ["\x1b[2J\0", "\\x1b[2J\\x00"],
  ["\u202egnp.exe", "\\u202egnp.exe"],
  ["a\tb\r\nc", "a\\tb\\r\\nc"],
  ["a\u00a0b\ufeff", "a\\xa0b\\ufeff"],
  ["half \ud83d", "half \\ud83d"],
  ["tag \u{e0041}", "tag \\U000e0041"],
  ["👩‍👩‍👧", "👩‍👩‍👧"],
])("visible of %j", (name, shown) => {
  expect(visible(name)).toBe(shown);
});

test("lines of a text's own stay", () => {
  expect(visibleLines("<svg>\n\x07")).toBe("<svg>\n\\x07");
});
