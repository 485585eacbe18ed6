import { expect, test } from "vitest";
import { deviceLabel } from "../../analysis/devices.ts";
import { whyTimelineIsEmpty } from "../../analysis/emptiness.ts";
import { executionsOf, transferOf } from "../../analysis/testing.ts";
import { laidOut } from "../../analysis/timeline_layout.ts";
import type { MovedTensor } from "../../data/graphs.ts";
import type { Profile } from "../../data/profile.ts";
import { profileOf } from "../../engine/testing.ts";
import type { Store } from "../../state/store.ts";
import { detailsOf, linksOf, rangeText, transferFacts, useText } from "./details.ts";
import type { TimelineState } from "./state.ts";

const LAYERS: Readonly<Record<string, unknown>> = {
  "layers.names": ["conv", "no layer"],
  "layers.types": ["Conv2D", ""],
  "layers.parent": Int32Array.of(-1, -1),
  "layers.layer": Int32Array.of(0, 1),
  "layers.role": Int32Array.of(1, 0),
};
const profile = {
  steps: [7, 9],
  stepNames: ["warm-up", "train"],
  nodes: {
    names: ["<b>x</b>/conv", "y"],
    ops: ["Conv2D", "y"],
    op: Int32Array.of(0, 1),
    devices: ["/device:gpu:0/stream:all"],
    shapes: ["64x784", "784x128", "64x128"],
    shape: Int32Array.of(2, -1),
    outputShapes: { start: Int32Array.of(0, 1, 1), values: Int32Array.of(2) },
    inputs: { start: Int32Array.of(0, 0, 0), values: new Int32Array(0) },
    inputPorts: new Int32Array(0),
    floatOps: Float64Array.of(2500, 0),
  },
  executions: executionsOf([
    { step: 1, drawn: `  ${"a".repeat(125)}` },
    { step: 1, drawn: "b" },
  ]),
  stepTotals: {
    node: Int32Array.of(0, 0, 1),
    step: Int32Array.of(0, 1, 2),
    requestedBytes: Float64Array.of(5, 2_000_000, 7),
    runCount: Float64Array.of(1, 1, 1),
  },
  traces: {
    strings: [
      "/home/me/net.py",
      "main",
      "x = conv(y)",
      "/usr/lib/site-packages/tensorflow/nn.py",
      "conv2d",
      "none",
    ],
    file: Int32Array.of(0, 3),
    line: Int32Array.of(88, 2300),
    function: Int32Array.of(1, 4),
    source: Int32Array.of(2, 5),
    stacks: { start: Int32Array.of(0, 2), values: Int32Array.of(0, 1) },
    stack: Int32Array.of(0, -1),
    forward: Int32Array.of(-1, -1),
  },
  late: (name: string) => LAYERS[name],
} as unknown as Profile;

const kernel = ["<b>x</b>/conv", "/job:localhost/replica:0/task:0/device:gpu:0", 13] as const;
const accelerators = {
  kernels: [
    [...kernel, "sgemm<\u202e>", "2,2,169", "128,1,1", 122, 12_544, 25, 967_124_000, 2, 1_934_248, 2, 8000],
    [...kernel, "splitK", "", "", 0, 0, 0, 0, 1, 900, 0, 0],
    ["z", kernel[1], 13, "relu", "", "", 0, 0, 0, 0, 1, 900, 0, 0],
    [kernel[0], `${kernel[1]}1`, 13, "of another device", "", "", 0, 0, 0, 0, 1, 900, 0, 0],
  ],
};

const layout = laidOut(profile.executions, [1]);
const track = layout.tracks[0];
const state = {
  profile: { value: profile },
  lanes: { value: track?.lanes },
  trackOf: () => track,
  transferAt: () => -1,
  store: { shown: { accelerators }, options: { value: { timing: "exact" } } },
  slices: { value: profile.executions },
  slack: { value: null },
  deviceName: (device: number) => deviceLabel(profile.nodes.devices[device] ?? ""),
  executionAt: ({ lane, slice }: { lane: number; slice: number }) => track?.lanes[lane]?.execution[slice],
} as unknown as TimelineState;

test("what is known of a slice: names as they are, memory of its step, the user's own line", () => {
  expect(detailsOf(state, { lane: 0, slice: 1 })).toEqual({
    name: "<b>x</b>/conv",
    facts: [
      ["op type", "Conv2D"],
      ["layer", "conv, backward"],
      ["start", "20 ns"],
      ["duration", "1.25 µs"],
      ["device", "GPU:0 · stream all"],
      ["lane", "0"],
      [
        "kernel",
        "sgemm<\\u202e> (2 runs), 1.93 ms, grid 2,2,169, block 128,1,1, 122 registers, 12.5 kB shared, occupancy 25 %, 1 TB/s, began 4 µs after its launch",
      ],
      ["kernel 2", "splitK, 900 ns"],
      ["shapes", "64×128"],
      ["FLOPs", "2.50 kFLOP · 2 GFLOP/s"],
      ["memory", "2 MB requested in this step"],
      ["step", "9 train"],
      ["source", "net.py:88  x = conv(y)"],
    ],
  });
});

test("what is not known is left out", () => {
  const details = detailsOf(state, { lane: 0, slice: 0 });
  expect(details?.name).toBe("y");
  expect(details?.facts.map(([label]) => label)).toEqual([
    "layer",
    "start",
    "duration",
    "device",
    "lane",
    "step",
  ]);
});

test("facts lead to the row, the op type, the layer and the line", () => {
  expect([...linksOf(state, { lane: 0, slice: 1 })]).toEqual([
    ["", { name: "<b>x</b>/conv", tab: "scope" }],
    ["op type", { name: "Conv2D", tab: "op" }],
    ["layer", { name: "conv", tab: "layers" }],
    ["source", { name: "net.py:88:main", tab: "code" }],
  ]);
  const links = linksOf(state, { lane: 0, slice: 0 });
  expect([...links.keys()]).toEqual(["", "op type"]);
});

test("there is nothing to say of a slice that there is not", () => {
  expect(detailsOf(state, { lane: 3, slice: 0 })).toBeNull();
});

test.each([
  ["no run", executionsOf([]), "No run was recorded: the profile has the graph, but no times."],
  ["no start times", executionsOf([{ drawn: "" }]), "No recorded execution has a start time."],
  [
    "another step",
    executionsOf([{ drawn: "a", step: 1 }]),
    "Nothing was recorded in the steps that are chosen.",
  ],
])("an empty timeline says why: %s", (_, executions, reason) => {
  expect(whyTimelineIsEmpty({ ...profile, executions }, laidOut(executions, [0])).reason).toBe(reason);
});

const [PS, WORKER] = ["/job:ps/replica:0/task:1/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"];
const withTransfer = {
  ...profileOf("w = Variable() 10ns"),
  transfers: transferOf({ from: PS, to: WORKER, drawn: "  tttt" }),
};

function factsWith(transfers: readonly Partial<MovedTensor>[]): readonly (readonly [string, string])[] {
  const store = { shown: { cluster: { transfers } } } as unknown as Store;
  return transferFacts({ profile: { value: withTransfer }, store } as TimelineState, 0);
}

test("what is known of a transfer: its way, its rate, and how long it is waited for", () => {
  const told = { tensor: "w:0", source: PS, target: WORKER, waitNanos: 1500 };
  expect(factsWith([{ ...told, target: "/job:other" }, told])).toEqual([
    ["transfer", "RecvTensor"],
    ["from", "ps 1 · CPU:0"],
    ["to", "worker 0 · CPU:0"],
    ["bytes", "64 B"],
    ["start", "20 ns"],
    ["duration", "40 ns (0.04 µs)"],
    ["rate", "1.60 GB/s"],
    ["waits", "1.50 µs a step until it was on its way"],
  ]);
});

test("what is not among the costliest has no wait told", () => {
  expect(factsWith([]).map(([label]) => label)).not.toContain("waits");
});

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
