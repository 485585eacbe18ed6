// What is selected, from its names to what its nodes cost: analysis/selected.ts with the flags of selection.ts.

import { expect, test } from "vitest";
import { microsInRows, selectedOf, shapesOf } from "../analysis/selected.ts";
import { withDefaults } from "../data/options.ts";
import { evaluate } from "../engine/evaluate.ts";
import { measures } from "../engine/measures.ts";
import { profileOf } from "../engine/testing.ts";
import { nodesBehind } from "./selection.ts";

const PROFILE = profileOf(`
  a      = MatMul(b) 10us;30us 64B 500flops @gpu
  a/bias = BiasAdd() 4us;4us 8B @cpu
  a/w    = VariableV2() 7params
  b      = Relu() 6us;6us
`);

function selected(...names: string[]) {
  const flags = nodesBehind(PROFILE, names) ?? new Uint8Array(0);
  return selectedOf(PROFILE, measures(PROFILE, withDefaults()), names, flags);
}

test("of a scope that is a node too: what is behind it, and the node itself", () => {
  const { total, ...about } = selected("a");
  expect(about).toEqual({
    count: 3,
    costliest: 0,
    node: 0,
    types: ["MatMul", "BiasAdd", "VariableV2"],
    devices: ["GPU", "CPU"],
  });
  expect(total).toMatchObject({ micros: 24, bytes: 72, runs: 2, float_ops: 500, params: 7 });
});

test("what of it the rows of a view count themselves", () => {
  const flags = nodesBehind(PROFILE, ["a"]) as Uint8Array;
  expect(microsInRows(evaluate(PROFILE, "scope", withDefaults()), flags)).toBe(24);
  expect(microsInRows(evaluate(PROFILE, "scope", withDefaults({ hideNameRegexes: ["a"] })), flags)).toBe(4);
});

test("of several names the sums, each node once", () => {
  const { total, node, count, costliest } = selected("Relu", "a/bias", "b");
  expect([total.micros, node, count, costliest]).toEqual([10, -1, 2, 3]);
});

test("of nothing known nothing", () => {
  const { total, count, costliest, types } = selected("unknown");
  expect([total.micros, count, costliest, types]).toEqual([0, 0, -1, []]);
});

test("shapes are those of all inputs and outputs, as far as known", () => {
  const known = {
    ...PROFILE,
    nodes: {
      ...PROFILE.nodes,
      shapes: ["64x784", "scalar"],
      outputShapes: { start: Int32Array.of(0, 1, 1, 1, 2), values: Int32Array.of(1, 0) },
    },
  };
  expect([0, 1, 3].map((node) => shapesOf(known, node, "exact"))).toEqual(["64×784 → scalar", "", "64×784"]);
  expect(shapesOf(PROFILE, 0, "exact")).toBe("");
});
