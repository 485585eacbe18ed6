import { describe, expect, test } from "vitest";
import { busyRanges, useOf } from "./busy.ts";
import type { Track } from "./lanes.ts";
import { executionsOf } from "./testing.ts";
import { laidOut } from "./timeline_layout.ts";

// lane 0: aaaa..cc    lane 1: ..bbb       busy: 50 + 20 of 80 ns, work: 40 + 30 + 20
const ROWS = [{ drawn: "aaaa" }, { drawn: "  bbb" }, { drawn: "      cc" }];

test("ranges that touch are one", () => {
  const [start, duration] = [Float64Array.of(0, 20, 50), Float64Array.of(20, 10, 5)];
  expect(busyRanges(Int32Array.of(0, 1, 2), start, duration)).toEqual({
    start: Float64Array.of(0, 50),
    end: Float64Array.of(30, 55),
  });
});

describe("useOf", () => {
  const { tracks, steps, end } = laidOut(executionsOf(ROWS), [0]);
  const track = tracks[0] as Track;

  test("a device is busy while anything runs on it", () => {
    expect(useOf(track, steps, 0, end)).toEqual({
      device: 0,
      operations: 3,
      busy: 70,
      idle: 10,
      work: 90,
      longestGap: { from: 50, to: 60 },
    });
  });

  test("of a range only what lies in it counts", () => {
    expect(useOf(track, steps, 30, 65)).toMatchObject({ operations: 3, busy: 25, idle: 10, work: 35 });
  });

  test("what a device waits for at the start and end of a step is idle time too", () => {
    const rows = [{ drawn: "a".repeat(10) }, { device: 1, drawn: "   bb" }];
    const layout = laidOut(executionsOf(rows), [0]);
    expect(useOf(layout.tracks[1] as Track, layout.steps, 0, layout.end)).toMatchObject({
      busy: 20,
      idle: 80,
      longestGap: { from: 50, to: 100 },
    });
  });

  test("the space between steps is no idle time", () => {
    const rows = [{ drawn: "aaaaa" }, { step: 1, drawn: "aaaaa" }];
    const layout = laidOut(executionsOf(rows), [0, 1]);
    expect(useOf(layout.tracks[0] as Track, layout.steps, 0, layout.end)).toMatchObject({
      busy: 100,
      idle: 0,
      longestGap: null,
    });
  });
});
