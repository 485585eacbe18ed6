import { describe, expect, test } from "vitest";
import { busyRanges, laneLabel, sortedByKey, type Track, useOf } from "./lanes.ts";
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

describe("laneLabel", () => {
  const rows = [
    { thread: 1, drawn: "aaaa" },
    { thread: 1, drawn: " b" },
    { thread: 0, drawn: "a" },
    { device: 1, thread: 0, drawn: "a" },
  ];
  const named = (threads: readonly string[]) =>
    laidOut({ ...executionsOf(rows), threads }, [0]).tracks.map((track) =>
      track.lanes.map((lane) => laneLabel(track, lane)),
    );

  test("a lane is called by what its thread does, even if the device has one thread only", () => {
    expect(named(["Python", "inter-op 1"])).toEqual([
      ["Python", "inter-op 1", "inter-op 1, level 1"],
      ["Python"],
    ]);
  });

  test("where that is not known, threads are numbered, and lanes if there is one thread", () => {
    expect(named(["", ""])).toEqual([["thread 0", "thread 1", "thread 1, level 1"], ["lane 0"]]);
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
