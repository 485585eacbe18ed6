import { describe, expect, test } from "vitest";
import type { Profile } from "../data/profile.ts";
import { profileOf } from "../engine/testing.ts";
import { paintedLanes } from "../views/timeline/tones.ts";
import { laidDeviceLabel, slicesOf } from "./slices.ts";
import { drawnLane, executionsOf, transferOf } from "./testing.ts";
import { layoutOf } from "./timeline_layout.ts";

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

  test("have a colour of their own, and recede with what made them", () => {
    const layout = layoutOf(profile, [0]);
    const colours = (meant: Uint8Array | null) =>
      paintedLanes(profile, slicesOf(profile), layout, meant).map(({ colour }) => colour[0]);
    expect(colours(null).at(-1)).toBe(6);
    expect(colours(Uint8Array.of(0, 1)).at(-1)).toBe(13);
    expect(colours(Uint8Array.of(1, 0)).at(-1)).toBe(6);
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
