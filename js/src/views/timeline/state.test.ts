import { expect, test } from "vitest";
import type { Nodes } from "../../data/profile.ts";
import { either, nodesFound } from "./state.ts";

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
