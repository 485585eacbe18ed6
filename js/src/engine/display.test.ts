// What is shown: start, depth, thresholds, show, hide, trim, each on one small tree in the views that are trees.

import { describe, expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import { evaluate } from "./evaluate.ts";
import { drawing, profileOf, shown } from "./testing.ts";

// The same tree in scope, graph and code view, for what is in a scope is the input of it, and is called by it.
const PROFILE = profileOf(`
  a     = Op(a/b, a/d) 1us            100B | a.py:1:a
  a/b   = Op(a/b/c)    2us    3params 10B  | a.py:1:a > b.py:1:b
  a/b/c = Op()         4us    5params 20B  | a.py:1:a > b.py:1:b > c.py:1:c
  a/d   = Op()         8us+8us        30B  | a.py:1:a > d.py:1:d
  e     = Op()         16us   7params 9flops  | e.py:1:e
`);
const TREES: readonly ViewName[] = ["scope", "graph", "code"];

/** The rows by their last letter and total microseconds; regexes of names become regexes of frames in code view. */
function rowsOf(kind: ViewName, options: Partial<Options>): string {
  const asFrame = (regex: string) => `.*:${regex.slice(regex.lastIndexOf("/") + 1)}`;
  const given = Object.entries(options).map(([option, value]) => [
    option,
    kind === "code" && option.endsWith("NameRegexes") ? (value as string[]).map(asFrame) : value,
  ]);
  const lines = shown(PROFILE, kind, Object.fromEntries(given)).split("\n");
  return lines.map((line) => line.replace(/(\s*)(?:.*[/:])?(\w+) \d+\/(\d+)/, "$1$2 $3")).join("\n");
}

function lettersOf(kind: ViewName, options: Partial<Options>): string {
  const lines = rowsOf(kind, options).split("\n").slice(1);
  return lines.map((line) => line.trim().split(" ")[0]).join(" ");
}

describe.each(TREES)("in %s view", (kind) => {
  test.each<[Partial<Options>, string]>([
    [{}, "_TFProfRoot 39\n  a 23\n    b 6\n      c 4\n    d 16\n  e 16"],
    [{ maxDepth: 1 }, "_TFProfRoot 39"],
    [{ maxDepth: 2 }, "_TFProfRoot 39\n  a 23\n  e 16"],
    [{ maxDepth: 3 }, "_TFProfRoot 39\n  a 23\n    b 6\n    d 16\n  e 16"],
    [{ startNameRegexes: ["a/b", "a/b/c", "e"] }, "_TFProfRoot 39\n  b 6\n    c 4\n  e 16"],
    [{ startNameRegexes: ["a/b"], maxDepth: 2 }, "_TFProfRoot 39\n  b 6"],
    [{ startNameRegexes: ["nothing"] }, "_TFProfRoot 39"],
    [{ startNameRegexes: [] }, "_TFProfRoot 39"],
    [{ hideNameRegexes: ["a/b"] }, "_TFProfRoot 39\n  a 23\n    c 4\n    d 16\n  e 16"],
    [{ showNameRegexes: ["a/b/c", "e"] }, "_TFProfRoot 39\n  c 4\n  e 16"],
    [{ showNameRegexes: [] }, "_TFProfRoot 39"],
    [{ showNameRegexes: ["a/b/c", "e"], hideNameRegexes: ["e"] }, "_TFProfRoot 39\n  c 4"],
    [{ startNameRegexes: ["a/b"], trimNameRegexes: ["a"] }, "_TFProfRoot 39\n  b 6\n    c 4"],
    [{ trimNameRegexes: ["a/b"], hideNameRegexes: ["a/b"] }, "_TFProfRoot 39\n  a 23\n    d 16\n  e 16"],
    [
      { hideNameRegexes: ["a/d"], accountDisplayedOpOnly: true, orderBy: "micros" },
      "_TFProfRoot 23\n  e 16\n  a 7\n    b 6\n      c 4",
    ],
  ])("%j", (options, rows) => {
    expect(rowsOf(kind, options)).toBe(rows);
  });

  test("trimming the root leaves only it", () => {
    expect(shown(PROFILE, kind, { trimNameRegexes: ["_TFProfRoot"] })).toBe("_TFProfRoot 0/39");
  });

  test.each<[Partial<Options>, string]>([
    [{ minMicros: 16 }, "a d e"],
    [{ minMicros: 17 }, "a"],
    [{ minCpuMicros: 16 }, "a d e"],
    [{ minAcceleratorMicros: 1 }, ""],
    [{ minBytes: 30 }, "a b d"], // d ran twice, so it requested 60 bytes
    [{ minBytes: 31 }, "a d"],
    [{ minPeakBytes: 1 }, ""],
    [{ minResidualBytes: 1 }, ""],
    [{ minOutputBytes: 1 }, ""],
    [{ minMicros: 10, minBytes: 100 }, "a"],
  ])("times and bytes are compared in total: %j", (options, rows) => {
    expect(lettersOf(kind, options)).toBe(rows);
  });

  test.each<[Options["orderBy"], string]>([
    ["name", "a b c d e"],
    ["micros", "a d b c e"],
    ["bytes", "a d b c e"],
    ["params", "a b c d e"],
    ["float_ops", "e a b c d"],
    ["depth", "a b c d e"],
  ])("ordered by %s", (orderBy, rows) => {
    expect(lettersOf(kind, { orderBy })).toBe(rows);
  });

  test("devices", () => {
    const profile = profileOf(`
      here  = Op() 1us @/gpu:0 | a.py:1:f
      there = Op() 2us @/gpu:1 | a.py:2:f
      never = Op()             | a.py:3:f
    `);
    const count = (...deviceRegexes: string[]) =>
      evaluate(profile, kind, withDefaults({ deviceRegexes })).rows;
    expect(count(".*gpu:1")).toBe(2);
    expect(count(".*gpu.*")).toBe(3);
    expect(count(".*gpu.*", "")).toBe(4);
  });
});

test("trim stops below the match, and cuts the match too in code view", () => {
  const below = "_TFProfRoot 39\n  a 23\n    b 6\n    d 16\n  e 16";
  expect(rowsOf("scope", { trimNameRegexes: ["a/b"] })).toBe(below);
  expect(rowsOf("graph", { trimNameRegexes: ["a/b"] })).toBe(below);
  expect(rowsOf("code", { trimNameRegexes: ["a/b"] })).toBe("_TFProfRoot 39\n  a 23\n    d 16\n  e 16");
});

test.each<[Partial<Options>, string, string]>([
  [{ minParams: 5 }, "c e", "a b c e"],
  [{ minParams: 8 }, "", "a b"],
  [{ minFloatOps: 1 }, "e", "e"],
  [{ minOccurrence: 2 }, "d", "a b c d e"],
])("%j asks the node itself, but in code view", (options, inScopeAndGraph, inCode) => {
  expect(lettersOf("scope", options)).toBe(inScopeAndGraph);
  expect(lettersOf("graph", options)).toBe(inScopeAndGraph);
  expect(lettersOf("code", options)).toBe(inCode);
});

test.each(["scope", "graph"] as const)("totals may be of what is shown only, in %s view", (kind) => {
  const options = { hideNameRegexes: ["a/b"], accountDisplayedOpOnly: true, maxDepth: 3 };
  expect(rowsOf(kind, options)).toBe("_TFProfRoot 33\n  a 17\n    d 16\n  e 16");
});

test.each(TREES)("a row that counts itself is told from one that is there for others, in %s view", (kind) => {
  const profile = profileOf("a/b = Op() 1us | m.py:1:f > m.py:2:g\nc = Op(a/b) 1us | m.py:3:h");
  const accounted = (options: Partial<Options>) => [
    ...evaluate(profile, kind, withDefaults(options)).accounted,
  ];
  expect(accounted({})).toEqual(kind === "graph" ? [0, 1, 1] : [0, 1, 1, 1]);
});

test("code view heeds that by the exact clock only, as natively", () => {
  const options = { hideNameRegexes: ["a/d"], accountDisplayedOpOnly: true, maxDepth: 2 };
  expect(rowsOf("code", options)).toBe("_TFProfRoot 17\n  a 1\n  e 16");
  expect(rowsOf("code", { ...options, timing: "tfprof" })).toBe("_TFProfRoot 39\n  a 23\n  e 16");
});

test.each(["scope", "graph"] as const)("what a total counts and what of it is hidden, in %s view", (kind) => {
  const view = evaluate(PROFILE, kind, withDefaults({ hideNameRegexes: ["a/b.*"] }));
  expect(Array.from(view.definitions)).toEqual([5, 4, 1, 1]);
  expect(Array.from(view.hidden)).toEqual([2, 2, 0, 0]);
  expect([view.kept, view.of]).toEqual([3, 5]);
});

test("what is above a row is the row that it is shown under", () => {
  const view = evaluate(PROFILE, "scope", withDefaults({ hideNameRegexes: ["a/b"], orderBy: "micros" }));
  expect(shown(PROFILE, "scope", view.options)).toBe(
    drawing(`
      _TFProfRoot 0/39
        a 1/23
          a/d 16/16
          a/b/c 4/4
        e 16/16
    `),
  );
  expect(Array.from(view.parent)).toEqual([-1, 0, 1, 1, 0]);
  expect(Array.from(view.node)).toEqual([-1, 0, 3, 2, 4]);
});
