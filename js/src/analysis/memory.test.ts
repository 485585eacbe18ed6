import { expect, test } from "vitest";
import type { Allocator } from "../data/graphs.ts";
import type { Profile } from "../data/profile.ts";
import { profileOf } from "../engine/testing.ts";
import {
  aliveAtPeak,
  allocatorRows,
  byDevice,
  curveOf,
  eventAt,
  holdersAfter,
  holdersAtPeak,
  linesBelow,
  memoryOfStep,
  peakBytes,
  requestedInStep,
  stepWithMostMemory,
} from "./memory.ts";

type Event = readonly [node: number, step: number, device: number, nanos: number, bytes: number];

/** A profile in which each event is of an execution of its own. */
function profileWith(...events: Event[]): Profile {
  const column = (index: number) => events.map((event) => event[index] as number);
  return {
    ...profileOf("a = Add() 1us;1us 8B\nb = Mul() 1us;1us 24B\nc = Sub() 1us"),
    executions: {
      node: Int32Array.from(column(0)),
      step: Int32Array.from(column(1)),
      device: Int32Array.from(column(2)),
      threads: [""],
      thread: new Int32Array(events.length),
      startNanos: Float64Array.from(column(3)),
      durationNanos: new Float64Array(events.length),
    },
    allocations: {
      execution: Int32Array.from(events.keys()),
      nanos: Float64Array.from(column(3)),
      bytes: Float64Array.from(column(4)),
    },
  };
}

// Not in order of time, as executions are recorded by thread.
const PROFILE = profileWith(
  [0, 0, 0, 1000, 100],
  [0, 0, 0, 5000, -100],
  [1, 0, 0, 3000, 50],
  [2, 0, 0, 6000, 70],
  [1, 0, 1, 2000, 500],
  [0, 1, 0, 1000, 10],
);

test("what is held is summed in order of time, by device, the largest peak first", () => {
  const devices = memoryOfStep(PROFILE, 0);
  expect(devices.map(({ device, nanos, held }) => [device, [...nanos], [...held]])).toEqual([
    [1, [2000], [500]],
    [0, [1000, 3000, 5000, 6000], [100, 150, 50, 120]],
  ]);
  expect(devices.map(peakBytes)).toEqual([500, 150]);
});

// The variable a is held throughout; b runs until 50 ns, d and e are over by then, c takes what b makes.
const KINDS: Readonly<Record<string, unknown>> = {
  "layers.names": ["no layer"],
  "layers.types": [""],
  "layers.parent": Int32Array.of(-1),
  "layers.layer": new Int32Array(5),
  "layers.role": Int32Array.of(0, 0, 0, 1, 3),
  "variables.kinds": ["weights", "optimizer state"],
  "variables.kind": Int32Array.of(0, 1, 0),
  "variables.node": Int32Array.of(0, -1, 0),
  "variables.device": Int32Array.of(0, 0, -1),
  "variables.bytes": Float64Array.of(1000, 200, 9),
};

test("the curve starts at what variables hold, and holders are told at any time by kind", () => {
  const profile = {
    ...profileWith([1, 0, 0, 20, 64], [3, 0, 0, 30, 32], [4, 0, 0, 40, 16], [1, 0, 0, 50, -64]),
    late: (name: string) => KINDS[name],
  };
  const graph = profileOf(
    "a = Variable() 1us\nb = MatMul(a) 1us\nc = Relu(b) 1us\nd = Grad() 1us\ne = Next() 1us",
  );
  const nodes = { ...graph.nodes, devices: ["/device:cpu:0"] };
  const [cpu] = memoryOfStep({ ...profile, nodes }, 0);
  if (!cpu) throw new Error("no memory");
  expect([cpu.before, ...cpu.held]).toEqual([1200, 1264, 1296, 1312, 1248]);
  const told = (time: number) =>
    holdersAfter({ ...profile, nodes }, cpu, eventAt(cpu, time)).map(
      ({ node, kind, bytes }) => `${node} ${kind} ${bytes}`,
    );
  expect(told(-1)).toEqual(["0 weights 1000", "-1 optimizer state 200"]);
  expect(told(45)).toEqual([
    "0 weights 1000",
    "-1 optimizer state 200",
    "1 activations 64",
    "3 gradients 32",
    "4 inputs 16",
  ]);
  expect(told(60)).toEqual(["0 weights 1000", "-1 optimizer state 200", "3 gradients 32", "4 inputs 16"]);
});

test("alive at the peak is what was allocated and not released by then", () => {
  const [, cpu] = memoryOfStep(PROFILE, 0);
  expect(cpu && holdersAtPeak(PROFILE, cpu)).toEqual([
    { node: 0, bytes: 100 },
    { node: 1, bytes: 50 },
  ]);
});

test("of what is selected, what is alive at the peaks of the step with the most memory", () => {
  const alive = (...flags: number[]) => aliveAtPeak(PROFILE, [0, 1], Uint8Array.from(flags));
  expect([alive(1, 1, 1), alive(0, 1, 1), alive(0, 0, 1)]).toEqual([650, 550, 0]);
  expect(aliveAtPeak(PROFILE, [], Uint8Array.of(1, 1, 1))).toBeNull();
});

test("what was held before the step shows by being released in it", () => {
  const profile = profileWith([0, 0, 0, 1000, -30], [0, 0, 0, 2000, 10]);
  const [cpu] = memoryOfStep(profile, 0);
  expect(cpu && [cpu.before, [...cpu.held], cpu.peak]).toEqual([30, [0, 10], 1]);
});

test("without a moment to tell by, events are in the order recorded", () => {
  const [cpu] = memoryOfStep(profileWith([0, 0, 0, 1000, 8], [0, 0, 0, 1000, -8], [1, 0, 0, 1000, 8]), 0);
  expect(cpu && [...cpu.held]).toEqual([8, 0, 8]);
});

test("the step with the most memory of those asked for, and none where none was recorded", () => {
  expect(stepWithMostMemory(PROFILE, [0, 1])).toBe(0);
  expect(stepWithMostMemory(PROFILE, [1])).toBe(1);
  expect(stepWithMostMemory(profileWith([0, 0, 0, 0, 1], [0, 1, 0, 0, 2]), [0, 1])).toBe(1);
  expect(stepWithMostMemory(profileWith(), [0, 1])).toBe(-1);
  expect(memoryOfStep(profileWith(), 0)).toEqual([]);
});

test("a curve of few stretches keeps the largest and the last value of each", () => {
  const sizes = [5, -3, 9, -9, 1, -2];
  const [cpu] = memoryOfStep(profileWith(...sizes.map((bytes, at): Event => [0, 0, 0, at * 1000, bytes])), 0);
  expect(cpu && curveOf(cpu, 2).map(({ nanos, bytes }) => [nanos, bytes])).toEqual([
    [0, 0],
    [2000, 11],
    [4000, 3],
    [5000, 1],
  ]);
  expect(cpu && curveOf(cpu, 100)).toHaveLength(1 + sizes.length);
});

test("what was requested in a step, the largest first", () => {
  expect(requestedInStep(PROFILE, 1)).toEqual([
    { node: 1, bytes: 24 },
    { node: 0, bytes: 8 },
  ]);
});

test("accelerators come before hosts, and 2 before 10", () => {
  const names = ["gpu_host_bfc", "GPU_10_bfc", "CPU:0", "GPU_2_bfc"];
  expect(names.sort(byDevice)).toEqual(["GPU_2_bfc", "GPU_10_bfc", "CPU:0", "gpu_host_bfc"]);
});

test.each([
  [
    "apart",
    [
      [1, 100],
      [9, 100],
    ],
    [0, 0],
  ],
  [
    "in one place",
    [
      [5, 100],
      [5, 100],
      [5, 100],
    ],
    [0, 1, 2],
  ],
  [
    "one above the other",
    [
      [5, 100],
      [5, 50],
    ],
    [0, 0],
  ],
  [
    "a little above the other",
    [
      [5, 100],
      [5, 95],
    ],
    [0, 1],
  ],
  [
    "at the bottom",
    [
      [5, 100],
      [5, 1],
      [5, 1],
    ],
    [0, 0, -1],
  ],
  [
    "side by side, one to the left and one to the right",
    [
      [4, 100],
      [6, 100],
    ],
    [0, 1],
  ],
  [
    "one to the right and one to the left",
    [
      [1, 100],
      [6, 100],
    ],
    [0, 0],
  ],
])("labels of peaks: %s", (_, points, lines) => {
  const given = points.map(([seconds = 0, bytes = 0]) => ({ seconds, bytes }));
  expect(linesBelow(given, 10)).toEqual(lines);
});

/** An allocator that has some GB in use from each of these seconds on. */
function allocatorWith(name: string, ...points: (readonly [second: number, gigabytes: number])[]): Allocator {
  const bytes = points.map(([, gigabytes]) => gigabytes * 1e9);
  const nanos = points.map(([second]) => second * 1e9);
  return { name, device: name, peak: Math.max(...bytes), capacity: 0, nanos, bytes };
}

test("curves that are alike are one, and others stay apart", () => {
  const alike = ["TPU_0", "TPU_1", "TPU_2"].map((name, at) =>
    allocatorWith(name, [0, 0], [1 + at / 1000, 20 + at / 100], [9, 0], [10, 0]),
  );
  const longer = allocatorWith("TPU_3", [0, 0], [1, 20], [9.5, 0], [10, 0]);
  const names = (allocators: Allocator[]) => allocatorRows(allocators).peaks.map(({ device }) => device);
  expect(names([...alike, longer])).toEqual(["TPU_0 … TPU_2, 3 alike", "TPU_3"]);
  expect(names(alike.slice(1))).toEqual(["TPU_1 and TPU_2, alike"]);
  expect(names([longer])).toEqual(["TPU_3"]);
  const { peaks, memory } = allocatorRows(alike);
  expect(peaks.map(({ exact }) => exact)).toEqual(["20,020,000,000 B"]);
  expect(memory).toHaveLength(4);
});
