import { describe, expect, test } from "vitest";
import {
  countsAt,
  depthStops,
  grouped,
  joinRegexes,
  nearestStop,
  neighbour,
  readQuantity,
  splitRegexes,
  spokenNumber,
  thresholdStops,
  unitOf,
} from "./typed_text.ts";

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

describe("thresholdStops", () => {
  test.each([
    [0, [0, 1]],
    [1, [0, 1]],
    [7, [0, 1, 2, 5, 7]],
    [10, [0, 1, 2, 5, 10]],
    [320.8, [0, 1, 2, 5, 10, 20, 50, 100, 200, 320]],
  ])("up to %d", (largest, stops) => {
    expect(thresholdStops(largest)).toEqual(stops);
  });

  test("rise to what a double can hold", () => {
    const stops = thresholdStops(9_007_199_254_740_991);
    expect(stops.at(-1)).toBe(9_007_199_254_740_991);
    expect(stops.every((stop, index) => index === 0 || stop > (stops[index - 1] as number))).toBe(true);
  });
});

describe("depthStops", () => {
  test.each([
    [0, [1]],
    [3, [1, 2, 3]],
  ])("down to %d", (deepest, stops) => {
    expect(depthStops(deepest)).toEqual(stops);
  });

  test("are coarse below twenty levels", () => {
    expect(depthStops(120).slice(18)).toEqual([19, 20, 50, 100, 120]);
  });
});

describe("nearestStop", () => {
  const stops = [0, 1, 2, 5, 10, 20, 50, 100];
  test.each([
    [0, 0],
    [1, 1],
    [3, 2],
    [4, 3],
    [70, 6],
    [75, 7],
    [1e9, 7],
  ])("of %d is number %d", (value, stop) => {
    expect(nearestStop(stops, value)).toBe(stop);
  });
});

describe("neighbour", () => {
  const stops = [0, 1, 2, 5, 10];
  test.each([
    [2, 1, 5],
    [2, -1, 1],
    [3, 1, 5],
    [3, -1, 2],
    [10, 1, 10],
    [0, -1, 0],
    [99, -1, 10],
    [1, 3, 10],
    [5, 3, 10],
    [3, -2, 1],
    [2, -3, 0],
  ])("of %d by %d is %d", (value, by, next) => {
    expect(neighbour(stops, value, by)).toBe(next);
  });
});

test("countsAt counts what stands at a stop or above it", () => {
  expect([...countsAt([0, 1, 2, 5], Float64Array.of(0, 999, 1000, 4999, 5000, 99_000), 1000)]).toEqual([
    2, 1, 1, 2,
  ]);
});

describe("splitRegexes", () => {
  test.each([
    ["", []],
    [" , ,", []],
    [".*", [".*"]],
    ["conv.*,relu.*", ["conv.*", "relu.*"]],
    [" conv.* , relu.* ", ["conv.*", "relu.*"]],
    ["a{1,2},b", ["a{1,2}", "b"]],
    ["a{,b", ["a{", "b"]],
    ["[,;]x,b", ["[,;]x", "b"]],
    ["[],]x,b", ["[],]x", "b"]],
    ["[^],]x,b", ["[^],]x", "b"]],
    ["[[:alpha:],]x,b", ["[[:alpha:],]x", "b"]],
    ["[\\],]x,b", ["[\\],]x", "b"]],
    ["a\\,b,c", ["a\\,b", "c"]],
    ["a\\\\,b", ["a\\\\", "b"]],
    ["(a,b),c", ["(a,b)", "c"]],
    ["((a,b),c),d", ["((a,b),c)", "d"]],
    ["\\(a,b", ["\\(a", "b"]],
    ["[(],b", ["[(]", "b"]],
    ["\\Qa,(b\\E,c", ["\\Qa,(b\\E", "c"]],
    ["a),b", ["a)", "b"]],
    // What is not closed is wrong, and is one regex, so that the message is about what was typed.
    ["save/(.*,b", ["save/(.*,b"]],
    ["a,[b,c", ["a", "[b,c"]],
    ["a,[b,c\\", ["a", "[b,c\\"]],
  ])("%j", (line, regexes) => {
    expect(splitRegexes(line)).toEqual(regexes);
  });
});

describe("joinRegexes", () => {
  test.each([
    [[]],
    [[".*"]],
    [["conv.*", "relu.*"]],
    [["a{1,2}", "[,;]", "(a,b)", "a\\,b", "\\Qa,b\\E"]],
    [["step 1", "\\ "]],
    [["{", "}"]],
  ])("of %j splits into the same", (regexes) => {
    expect(splitRegexes(joinRegexes(regexes))).toEqual(regexes);
  });

  test.each([
    [["a,b"], "a[,]b"],
    [[""], "()"],
    [[" a "], "[ ]a[ ]"],
  ])("writes %j otherwise, with the same meaning", (regexes, line) => {
    expect(joinRegexes(regexes)).toBe(line);
    const [again = ""] = splitRegexes(line);
    const text = regexes[0] as string;
    expect(new RegExp(`^(?:${again})$`).test(text)).toBe(true);
  });
});
