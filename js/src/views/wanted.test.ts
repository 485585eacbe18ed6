import { expect, test } from "vitest";
import type { Cut } from "../data/graphs.ts";
import { withDefaults } from "../data/options.ts";
import { profileOf } from "../engine/testing.ts";
import { isNothing, mergedRow, wantedBy } from "./wanted.ts";

const PROFILE = profileOf("a/b = MatMul() 1us\nc = Add() 1us");
const names = ["(1,234 more MatMul)", "a/b/(2 more Add)", "a/(3 more Mul, 2)", "a/(4 odd)", "b/more"];
const CUT_PROFILE = {
  ...PROFILE,
  nodes: { ...PROFILE.nodes, names, ops: ["Add", "MatMul", "Mul"], op: Int32Array.of(1, 0, 2, 0, 0) },
};
const CUT: Cut = { nodes: 9, kept: 2, rows: 3, steps: [0, 2] };

test.each([
  ["(1,234 more MatMul)", { count: "1,234", scope: "", op: "MatMul" }],
  ["a/b/(2 more Add)", { count: "2", scope: "a/b", op: "Add" }],
  ["a/(3 more Mul, 2)", { count: "3", scope: "a", op: "Mul" }],
  ["a/(4 odd)", null],
  ["b/more", null],
  ["a/(5 more Add)", null],
])("%s stands for several nodes or is one", (name, row) => {
  expect(mergedRow(CUT_PROFILE, name)).toEqual(row);
});

test("a step whose executions are here is not asked for", () => {
  expect(wantedBy(withDefaults({ step: 2 }), CUT)).toEqual({});
  expect(wantedBy(withDefaults({ step: 1 }), CUT)).toEqual({ step: 1 });
  expect(isNothing(wantedBy(withDefaults(), CUT))).toBe(true);
});

test("names are asked for where nodes are put together", () => {
  const options = withDefaults({ showNameRegexes: [".*x"], startNameRegexes: ["a"] });
  expect(wantedBy(options, CUT)).toEqual({ show_name_regexes: [".*x"], start_name_regexes: ["a"] });
  expect(wantedBy(options, { ...CUT, rows: 0 })).toEqual({});
});
