import { describe, expect, test } from "vitest";
import type { Profile } from "../data/profile.ts";
import { profileOf } from "../engine/testing.ts";
import { drawnLane, executionsOf, transferOf } from "./testing.ts";
import { laidDeviceLabel, laidOut, layoutOf, slicesOf } from "./timeline_layout.ts";

function drawing(rows: Parameters<typeof executionsOf>[0], steps: readonly number[] = [0]) {
  return laidOut(executionsOf(rows), steps).tracks.flatMap(({ device, lanes }) =>
    lanes.map((lane) => `${device}/${lane.thread}/${lane.level} ${drawnLane(lane)}`),
  );
}

describe("laidOut", () => {
  test("executions that do not overlap share a lane, in whatever order they were recorded", () => {
    expect(drawing([{ drawn: "    aa" }, { drawn: "aa" }, { drawn: "  aa" }])).toEqual(["0/0/0 112200"]);
  });

  test("what runs within another goes a level down, what follows comes up again", () => {
    const rows = [{ drawn: " bb" }, { drawn: "aaaaaa" }, { drawn: "  c" }, { drawn: "      d" }];
    expect(drawing(rows)).toEqual(["0/0/0 1111113", "0/0/1 .00", "0/0/2 ..2"]);
  });

  test("of two that start together the longer lies above", () => {
    expect(drawing([{ drawn: "a" }, { drawn: "bbb" }])).toEqual(["0/0/0 111", "0/0/1 0"]);
  });

  test("devices and threads have lanes of their own; threads are counted within the device", () => {
    const rows = [
      { device: 1, thread: 7, drawn: "a" },
      { device: 0, thread: 7, drawn: " a" },
      { device: 1, thread: 3, drawn: "aa" },
      { device: -1, thread: 3, drawn: "a" },
    ];
    expect(drawing(rows)).toEqual(["-1/0/0 3", "0/0/0 .1", "1/0/0 22", "1/1/0 0"]);
  });

  test("steps come one after another with a little space between", () => {
    const rows = [
      { step: 1, drawn: `${" ".repeat(30)}${"a".repeat(20)}` },
      { step: 0, drawn: "b".repeat(50) },
      { step: 2, drawn: "not chosen" },
    ];
    const layout = laidOut(executionsOf(rows), [0, 1]);
    // 4 % of 500 ns are 20 ns.
    expect(layout.steps).toEqual([
      { step: 0, from: 0, to: 500 },
      { step: 1, from: 520, to: 1020 },
    ]);
    expect([...(layout.tracks[0]?.lanes[0]?.start ?? [])]).toEqual([0, 820]);
    expect(layout.end).toBe(1020);
  });

  test("executions without a start time are counted, not shown", () => {
    const layout = laidOut(executionsOf([{ drawn: "" }, { drawn: "a" }, { drawn: "" }]), [0]);
    expect([layout.slices, layout.untimed]).toEqual([1, 2]);
  });

  test("nothing is a layout too", () => {
    expect(laidOut(executionsOf([]), [])).toMatchObject({ tracks: [], steps: [], slices: 0, untimed: 0 });
  });
});

const [PS, WORKER] = ["/job:ps/task:0/cpu:0", "/job:worker/task:0/cpu:0"];
const NODES = profileOf(`
  w = Variable() 10ns @${PS}
  x = MatMul() 10ns @${WORKER}
`);

/** The lanes by the names of their devices, drawn. */
function drawnLanes(profile: Profile, steps: readonly number[]): string[] {
  const slices = slicesOf(profile);
  return layoutOf(profile, steps).tracks.flatMap(({ device, lanes }) =>
    lanes.map((lane) => {
      const name = laidDeviceLabel(slices, device, profile.nodes.devices);
      return `${name}${lane.isTransfers ? " transfers" : ""} ${drawnLane(lane)}`;
    }),
  );
}

describe("transfers", () => {
  const profile: Profile = {
    ...NODES,
    executions: executionsOf([
      { device: 0, drawn: "aa" },
      { device: 1, drawn: "     bb" },
    ]),
    transfers: transferOf({ from: PS, to: WORKER, drawn: "  ttt" }),
  };

  test("lie below the device that got the tensor, and keep it from nothing", () => {
    expect(drawnLanes(profile, [0])).toEqual([
      "ps 0 · CPU:0 00",
      "worker 0 · CPU:0 .....11",
      "worker 0 · CPU:0 transfers ..222",
    ]);
    const { tracks, slices, transfers } = layoutOf(profile, [0]);
    expect([slices, transfers]).toEqual([3, 1]);
    expect([...(tracks[1]?.busy.start ?? [])]).toEqual([50]);
  });
});

test("workers lie below each other, and their steps of one number side by side", () => {
  const profile: Profile = {
    ...NODES,
    steps: [0, 0, 1, 1],
    stepNames: ["", "", "", ""],
    stepWorkers: ["after", "before", "after", "before"],
    executions: executionsOf([
      { step: 0, device: 1, drawn: "aa" },
      { step: 1, device: 1, drawn: "aaaa" },
      { step: 2, device: 1, drawn: "aaaaaaaaa" },
      { step: 3, device: 1, drawn: "a" },
    ]),
  };
  const { steps } = layoutOf(profile, [0, 1, 2, 3]);
  // The steps take 40 and 90 ns, and 4 % of their mean lie between them.
  expect(steps).toEqual([
    { step: 0, from: 0, to: 40 },
    { step: 2, from: 43, to: 133 },
  ]);
  expect(drawnLanes(profile, [0, 1])).toEqual([
    "before · worker 0 · CPU:0 1111",
    "after · worker 0 · CPU:0 00",
  ]);
});
