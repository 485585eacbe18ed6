// The same model and numbers as in tests/output/test_costs.py.

import { expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import type { Metric, Options, ViewName } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import { profileOf } from "../engine/testing.ts";
import { costRows, costsOf } from "./costs.ts";

const MODEL = profileOf(`
  a/conv = Conv2D() 60us 6000flops 100B | train.py:1:main
  a/relu = Relu() 20us 50B | train.py:2:main
  b/conv = Conv2D() 20us 2000flops 100B | train.py:1:main
  b/never = Conv2D() 1000flops | train.py:1:main
`);

function rows(profile: Profile, kind: ViewName, metric: Metric, options: Partial<Options> = {}) {
  return costRows(costsOf(evaluate(profile, kind, withDefaults(options))), metric);
}

function bars(...given: Parameters<typeof rows>) {
  return rows(...given).map(({ name, label }) => [name, label]);
}

test.each<ViewName>(["scope", "graph", "op", "code"])(
  "the %s view of everything gives the same costs",
  (kind) => {
    expect(bars(MODEL, kind, "time")).toEqual([
      ["Conv2D", "80 µs"],
      ["Relu", "20"],
    ]);
  },
);

test.each<[Metric, string[][]]>([
  [
    "memory",
    [
      ["Conv2D", "200 B"],
      ["Relu", "50"],
    ],
  ],
  [
    "count",
    [
      ["Conv2D", "2"],
      ["Relu", "1"],
    ],
  ],
  // What never ran has no time to set its float ops against.
  ["rate", [["Conv2D", "100 MFLOP/s"]]],
])("by %s", (metric, expected) => {
  expect(bars(MODEL, "scope", metric)).toEqual(expected);
});

test("only what is displayed counts", () => {
  expect(bars(MODEL, "scope", "time", { minMicros: 30 })).toEqual([["Conv2D", "60 µs"]]);
  expect(bars(MODEL, "code", "time", { hideNameRegexes: [".*:1:.*"] })).toEqual([["Relu", "20 µs"]]);
  expect(bars(MODEL, "scope", "time", { maxDepth: 1 })).toEqual([]);
});

test("nodes are counted where nothing ran", () => {
  const still = profileOf("a = Add()\nb = Mul()\nc = Mul()");
  expect(bars(still, "scope", "count")).toEqual([
    ["Mul", "2"],
    ["Add", "1"],
  ]);
});

test("the cheapest of many types are one bar, which selects nothing", () => {
  const many = Array.from({ length: 14 }, (_, index) => `n${index} = Op${index}() ${index + 1}us`).join("\n");
  const found = rows(profileOf(many), "op", "time");
  expect(found).toHaveLength(13);
  expect(found[0]).toMatchObject({ name: "Op13", op: "Op13" });
  expect(found.at(-1)).toMatchObject({
    name: "others (2 types)",
    op: undefined,
    label: "3",
    share: "2.9 %",
    nodes: "2",
  });
});

test("the rate of the others is that of their sums", () => {
  const fast = Array.from({ length: 12 }, (_, index) => `n${index} = Op${index}() 1us 1000flops`).join("\n");
  const both = profileOf(`${fast}\ns1 = Slow1() 10us 20flops\ns2 = Slow2() 30us 20flops`);
  expect(bars(both, "op", "rate").at(-1)).toEqual(["others (2 types)", "0.001"]);
});

test("the least are said with fewer digits than the largest, but never as nothing", () => {
  const skewed = profileOf("a = A() 2980us\nb = B() 135us\nc = C() 4us\nd = D() 1ns");
  expect(bars(skewed, "op", "time")).toEqual([
    ["A", "2.98 ms"],
    ["B", "0.14"],
    ["C", "0.004"],
    ["D", "<0.001"],
  ]);
});

test("processors are pieces of a bar, the first with its label", () => {
  const profile = profileOf("a = Conv2D() 60us\nb = Relu() 20us");
  const acceleratorNanos = Float64Array.of(30_000, 0);
  const found = rows({ ...profile, stepTotals: { ...profile.stepTotals, acceleratorNanos } }, "op", "time");
  expect(found.map(({ name, part, exact, label }) => [name, part, exact, label])).toEqual([
    ["Conv2D", "CPU", "60 µs", "90 µs"],
    ["Conv2D", "accelerator", "30 µs", ""],
    ["Relu", "CPU", "20 µs", "20"],
  ]);
});

test("half runs of a mean are said", () => {
  expect(rows(profileOf("a = Add() 1us+2us;3us"), "op", "time")[0]).toMatchObject({
    runs: "1.5",
    exact: "3 µs",
  });
});

test("what has no flagged node fades", () => {
  const view = evaluate(MODEL, "scope", withDefaults());
  const flags = Uint8Array.from(MODEL.nodes.names, (name) => (name === "a/relu" ? 1 : 0));
  const found = costRows(costsOf(view, flags), "time", true);
  expect(found.map(({ name, opacity }) => [name, opacity < 1])).toEqual([
    ["Conv2D", true],
    ["Relu", false],
  ]);
});
