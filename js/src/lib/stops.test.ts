import { describe, expect, test } from "vitest";
import { countsAt, depthStops, nearestStop, neighbour, thresholdStops } from "./stops.ts";

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
