import { describe, expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import { profileOf } from "../engine/testing.ts";
import { comparedColumns } from "./compared_columns.ts";
import { workersAmong } from "./worker_names.ts";
import { type ComparedRow, compareWorkers } from "./workers.ts";

// Steps 0 and 1 of w 1, of w 2, and step 0 of w.3: columns of the sketch by (step, worker).
const SKETCH = `
  net/a = MatMul()    10us;20us;6us;30us;40us
  net/b = Relu()      5us;5us;5us;5us;5us
  net/c = MatMul()    -;4us;-;-;-
  d     = NoOp()
`;
const PROFILE: Profile = {
  ...profileOf(SKETCH),
  steps: [0, 0, 0, 1, 1],
  stepNames: ["", "", "", "", ""],
  stepWorkers: ["w 1", "w 2", "w.3", "w 1", "w 2"],
};

function told(rows: readonly ComparedRow[]): unknown[] {
  return rows.map(({ name, values, mean, spread, difference }) => [
    name,
    [...values],
    mean,
    spread,
    difference,
  ]);
}

describe("compareWorkers", () => {
  const asked = { measure: "micros", part: "own", most: 10 } as const;

  test("each worker's mean step, those rows first that differ most", () => {
    const { workers, rows, whole, others } = compareWorkers(PROFILE, "scope", withDefaults({}), asked);
    expect(workers).toEqual(["w 1", "w 2", "w.3"]);
    expect(told(rows)).toEqual([
      ["net/a", [20, 30, 6], 56 / 3, 30 / (56 / 3), 24],
      ["net/c", [0, 4, 0], 4 / 3, 3, 4],
      ["net/b", [5, 5, 5], 5, 1, 0],
    ]);
    expect(told([whole])).toEqual([["all", [25, 39, 11], 25, 39 / 25, 28]]);
    expect(others).toBe(0);
  });

  test("with what is below", () => {
    const { rows, others } = compareWorkers(PROFILE, "scope", withDefaults({}), {
      ...asked,
      part: "total",
      most: 1,
    });
    expect(rows.map(({ name, values }) => [name, ...values])).toEqual([["net", 25, 39, 11]]);
    expect(others).toBe(3);
  });

  test("op types, of the step and workers that the options choose", () => {
    const options = withDefaults({ step: 1, workerRegexes: ["w .*"] });
    const { workers, rows } = compareWorkers(PROFILE, "op", options, { ...asked, part: "total" });
    expect(workers).toEqual(["w 1", "w 2"]);
    expect(rows.map(({ name, values }) => [name, ...values])).toEqual([
      ["MatMul", 30, 40],
      ["Relu", 5, 5],
    ]);
  });

  test("what the options refuse is refused", () => {
    expect(() => compareWorkers(PROFILE, "scope", withDefaults({ workerRegexes: ["x"] }), asked)).toThrow(
      "no worker matches",
    );
  });
});

describe("workersAmong", () => {
  test.each([
    [
      ["w10", "w2", "w2"],
      ["w2", "w10"],
    ],
    [
      ["after", "before"],
      ["before", "after"],
    ],
    [
      ["tuned", "Baseline"],
      ["Baseline", "tuned"],
    ],
  ])("%j come as %j", (given, sorted) => {
    expect(workersAmong(given)).toEqual(sorted);
  });
});

describe("comparedColumns", () => {
  const row = { name: "a", values: [200, 50], mean: 125, spread: 1.6, difference: 150 };
  const said = (from: 0 | 1, given: ComparedRow, workers = 2) =>
    comparedColumns("micros", workers, from).map(({ title, text }) => [title, text(given)]);

  test("of two how the second differs from the first", () => {
    expect(said(0, row)).toEqual([
      ["difference", "−150 µs"],
      ["ratio", "0.25 ×"],
    ]);
    expect(said(1, row)).toEqual([
      ["difference", "+150 µs"],
      ["ratio", "4.00 ×"],
    ]);
  });

  test("what there was not before is new", () => {
    expect(said(0, { ...row, values: [0, 50] })[1]).toEqual(["ratio", "new"]);
    expect(said(0, { ...row, values: [0, 0] })).toEqual([
      ["difference", "0 µs"],
      ["ratio", "–"],
    ]);
  });

  test("of more how far they are apart", () => {
    expect(said(0, row, 3)).toEqual([
      ["mean", "125 µs"],
      ["spread", "1.60 ×"],
    ]);
  });
});
