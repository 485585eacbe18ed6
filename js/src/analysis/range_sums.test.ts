import { expect, test } from "vitest";
import { profileOf } from "../engine/testing.ts";
import { sumsIn } from "./range_sums.ts";
import { executionsOf } from "./testing.ts";
import { laidOut, slicesOf } from "./timeline_layout.ts";

// b and c run on another thread than a.
const DRAWN = [{ drawn: "aaaaaaaaaa" }, { drawn: "  bbbb", thread: 1 }, { drawn: "        cccc", thread: 1 }];
const LAYERS: Readonly<Record<string, unknown>> = {
  "layers.names": ["conv", "no layer"],
  "layers.types": ["Conv2D", ""],
  "layers.parent": Int32Array.of(-1, -1),
  "layers.layer": Int32Array.of(0, 0, 1),
  "layers.role": Int32Array.of(0, 1, 2),
};
const profile = {
  ...profileOf("a = MatMul() 100ns\nb = MatMul() 40ns\nc = Add() 40ns"),
  executions: executionsOf(DRAWN),
  late: (name: string) => LAYERS[name],
};

function sumsOf(from: number, to: number) {
  const slices = slicesOf(profile);
  const sums = sumsIn(profile, slices, laidOut(slices, [0]), from, to);
  const written = (rows: (typeof sums)["layer"]) =>
    rows.map(({ name, nanos, count }) => `${name}: ${nanos} ns, ${count}`);
  return Object.entries(sums).map(([kind, rows]) => [kind, ...written(rows)]);
}

test("all of the time, the costliest first", () => {
  expect(sumsOf(0, 1000)).toEqual([
    ["op type", "MatMul: 140 ns, 2", "Add: 40 ns, 1"],
    ["layer", "conv, forward: 100 ns, 1", "conv, backward: 40 ns, 1", "no layer, update: 40 ns, 1"],
    ["thread", "no device, thread 0: 100 ns, 1", "no device, thread 1: 80 ns, 2"],
  ]);
});

test("of what is cut only the part in the range", () => {
  expect(sumsOf(50, 90)).toEqual([
    ["op type", "MatMul: 50 ns, 2", "Add: 10 ns, 1"],
    ["layer", "conv, forward: 40 ns, 1", "conv, backward: 10 ns, 1", "no layer, update: 10 ns, 1"],
    ["thread", "no device, thread 0: 40 ns, 1", "no device, thread 1: 20 ns, 2"],
  ]);
});

test("of a range in which nothing runs there are no sums", () => {
  expect(sumsOf(200, 300)).toEqual([["op type"], ["layer"], ["thread"]]);
});
