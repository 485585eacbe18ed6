import { expect, test } from "vitest";
import { nodesFound } from "../../analysis/selected.ts";
import { paintedLanes, RECEDING, TRANSFER } from "../../analysis/spans.ts";
import { executionsOf, transferOf } from "../../analysis/testing.ts";
import { layoutOf, slicesOf } from "../../analysis/timeline_layout.ts";
import type { Nodes } from "../../data/profile.ts";
import { profileOf } from "../../engine/testing.ts";
import { either } from "./state.ts";

const NODES = {
  names: ["a/conv", "a/CONV_2", "b/add"],
  ops: ["Conv2D", "AddV2"],
  op: Int32Array.of(0, 1, 1),
} as unknown as Nodes;

test.each([
  ["conv", [1, 1, 0]],
  ["  Add ", [0, 1, 1]],
  ["A/", [1, 1, 0]],
  ["nothing of this name", [0, 0, 0]],
])("searching for %j finds names and op types in any case", (text, found) => {
  expect([...(nodesFound(NODES, text) ?? [])]).toEqual(found);
});

test("no text is no search", () => {
  expect(nodesFound(NODES, " ")).toBeNull();
});

test("what is searched for or selected is highlighted", () => {
  expect(either(null, null)).toBeNull();
  expect(either(Uint8Array.of(1, 0), null)).toEqual(Uint8Array.of(1, 0));
  expect(either(Uint8Array.of(1, 0, 0), Uint8Array.of(0, 0, 1))).toEqual(Uint8Array.of(1, 0, 1));
});

test("transfers have a colour of their own, and recede with what made them", () => {
  const [PS, WORKER] = ["/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"];
  const profile = {
    ...profileOf(`
      w = Variable() 10ns @${PS}
      x = MatMul() 10ns @${WORKER}
    `),
    executions: executionsOf([
      { device: 0, drawn: "aa" },
      { device: 1, drawn: "     bb" },
    ]),
    transfers: transferOf({ from: PS, to: WORKER, drawn: "  ttt" }),
  };
  const layout = layoutOf(profile, [0]);
  const colours = (highlighted: Uint8Array | null) =>
    paintedLanes(profile, slicesOf(profile), layout, highlighted).map(({ colour }) => colour[0]);
  expect(colours(null).at(-1)).toBe(6);
  expect(colours(Uint8Array.of(0, 1)).at(-1)).toBe(RECEDING + TRANSFER);
  expect(colours(Uint8Array.of(1, 0)).at(-1)).toBe(6);
});
