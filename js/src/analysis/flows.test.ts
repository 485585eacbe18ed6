import { expect, test } from "vitest";
import { profileOf } from "../engine/testing.ts";
import { flowsOf } from "./flows.ts";
import { executionsOf, transferOf } from "./testing.ts";
import { laidOut, slicesOf } from "./timeline_layout.ts";

const GRAPH = "a = Const() 10ns\nb = Relu(a) 10ns\nc = Add(a, b) 10ns\nd = Neg(c) 10ns";
// a and b run twice; d runs in another step only.
const RUNS = [
  { node: 0, drawn: "aa" },
  { node: 1, drawn: "   bb" },
  { node: 0, drawn: "      aa" },
  { node: 2, drawn: "         cc" },
  { node: 1, drawn: "            bb" },
  { node: 3, drawn: " dd", step: 1 },
];

function arrows(row: number, more: object = {}): string[] {
  const profile = {
    ...profileOf(GRAPH),
    steps: [0, 1],
    executions: { ...executionsOf(RUNS), node: Int32Array.from(RUNS, ({ node }) => node) },
    ...more,
  };
  const slices = slicesOf(profile);
  return flowsOf(profile, slices, laidOut(slices, [0, 1]), row).map(
    ({ source, target }) => `${source} > ${target}`,
  );
}

test("from the last execution of what it takes, and to the first one of what takes it", () => {
  expect(arrows(3)).toEqual(["2 > 3", "1 > 3"]);
  expect(arrows(0)).toEqual(["0 > 1", "0 > 3"]);
});

test("what took its tensor before it ran again, or in another step, has no arrow", () => {
  expect(arrows(4)).toEqual(["2 > 4"]);
  expect(arrows(5)).toEqual([]);
});

test("a transfer is from what made its tensor to what takes it after it came", () => {
  const [cpu, gpu] = ["/device:cpu:0", "/device:gpu:0"];
  const moved = transferOf({ from: cpu, to: gpu, drawn: "   tttt" });
  // Row 6 is the transfer of a; c and the second b start after it, the first b while it is on its way.
  expect(arrows(6, { transfers: moved })).toEqual(["0 > 6", "6 > 4", "6 > 3"]);
  expect(arrows(0, { transfers: moved })).toContain("0 > 6");
});
