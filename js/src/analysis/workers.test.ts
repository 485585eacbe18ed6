import { describe, expect, test } from "vitest";
import type { Link, MovedTensor } from "../data/graphs.ts";
import { withDefaults } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import { profileOf } from "../engine/testing.ts";
import { workersAmong } from "./devices.ts";
import {
  byteRate,
  type ComparedRow,
  comparedColumns,
  compareWorkers,
  linkMatrix,
  offset,
  percent,
  placed,
  sortedTransfers,
  type TransferColumn,
  times,
  turned,
} from "./workers.ts";

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
      ["net/c", [0, 2, 0], 2 / 3, 3, 2],
      ["net/b", [5, 5, 5], 5, 1, 0],
    ]);
    expect(told([whole])).toEqual([["all", [25, 37, 11], 73 / 3, 37 / (73 / 3), 26]]);
    expect(others).toBe(0);
  });

  test("with what is below", () => {
    const { rows, others } = compareWorkers(PROFILE, "scope", withDefaults({}), {
      ...asked,
      part: "total",
      most: 1,
    });
    expect(rows.map(({ name, values }) => [name, ...values])).toEqual([["net", 25, 37, 11]]);
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

function link(source: string, target: string, bytes: number, kind = "RecvTensor"): Link {
  return { source, target, kind, count: 1, bytes, transferNanos: 10, waitNanos: 2 };
}

const LINKS = [
  link("b", "a", 100),
  link("b", "a", 20, "copy"),
  link("a", "b", 70),
  link("c", "a", 5),
  link("c", "b", 5),
];

test("what went one way by any means is one cell", () => {
  const { cell, largest, sources, targets, others } = linkMatrix(LINKS, 9, ["a", "b", "c"]);
  expect(cell("b", "a")).toMatchObject({
    count: 2,
    bytes: 120,
    transferNanos: 20,
    waitNanos: 4,
    kinds: ["RecvTensor", "copy"],
  });
  expect(cell("a", "c")).toBeUndefined();
  expect(largest).toBe(120);
  expect([sources, targets, others]).toEqual([["a", "b", "c"], ["a", "b"], 0]);
});

test("where there are many, those with the most bytes are shown, in the order of the tasks", () => {
  const { sources, targets, others } = linkMatrix(LINKS, 2, ["b", "a", "c"]);
  expect([sources, targets, others]).toEqual([["b", "a"], ["b", "a"], 1]);
});

test("nothing went between tasks", () => {
  expect(linkMatrix([], 2, [])).toMatchObject({ sources: [], targets: [], largest: 0, others: 0 });
});

const TRANSFERS: readonly MovedTensor[] = [
  ["w", 100, 50, 0],
  ["x", 900, 900, 7],
  ["a", 100, 10, 3],
].map(([tensor, bytes, transferNanos, waitNanos]) => ({
  tensor: tensor as string,
  kind: "RecvTensor",
  source: "/job:ps",
  target: "/job:worker",
  count: 1,
  bytes: bytes as number,
  transferNanos: transferNanos as number,
  waitNanos: waitNanos as number,
}));

test.each<[TransferColumn, boolean, string]>([
  ["tensor", false, "awx"],
  ["bytes", true, "xwa"],
  ["bytes", false, "wax"],
  ["time", true, "xwa"],
  ["rate", true, "awx"],
  ["wait", false, "wax"],
  ["kind", true, "wxa"],
])("by %s, descending: %s", (column, isDescending, order) => {
  const sorted = sortedTransfers(TRANSFERS, { column, isDescending });
  expect(sorted.map(({ tensor }) => tensor).join("")).toBe(order);
});

test("numbers fall at first, names rise, and the same column again turns round", () => {
  const bytes = turned({ column: "time", isDescending: true }, "bytes");
  expect(bytes).toEqual({ column: "bytes", isDescending: true });
  expect(turned(bytes, "bytes")).toEqual({ column: "bytes", isDescending: false });
  expect(turned(bytes, "tensor")).toEqual({ column: "tensor", isDescending: false });
});

test.each([
  ["/job:ps/replica:0/task:0", "ps 0"],
  ["/job:worker/replica:0/task:0", "worker 0"],
  ["/job:worker/replica:0/task:1/device:CPU:0", "worker 1 · CPU:0"],
  ["/job:localhost/replica:0/task:0", "localhost 0"],
  ["trainer\u202e", "trainer\\u202e"],
])("%s is called %s", (name, label) => {
  expect(placed(name)).toBe(label);
});

test("a megabyte in two milliseconds is half a gigabyte a second", () => {
  expect(byteRate(1_000_000, 2_000_000)).toBe("500 MB/s");
  expect(byteRate(1_000_000, 0)).toBe("–");
  expect(byteRate(0, 10)).toBe("–");
});

test.each<[number, number | null, string]>([
  [0, 0, "reference"],
  [1_500_000, 20_000, "+1.50 ms ± 20 µs"],
  [-2_000, 500, "−2 µs ± 500 ns"],
  [7, null, "not known"],
])("a clock %d ns ahead, give or take %d ns, is %s", (nanos, error, text) => {
  expect(offset(nanos, error)).toBe(text);
});

test("parts and multiples", () => {
  expect(percent(0.385)).toBe("39 %");
  expect(percent(null)).toBe("–");
  // 58.84m of the two servers' 25.81m and 58.84m.
  expect(times(58.84, 42.325)).toBe("1.39 ×");
  expect(times(1, 0)).toBe("–");
});
