import { expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import { profileOf } from "../engine/testing.ts";
import { kindsOf, type ScopeRow, scopeRows, scopeViewOf, stepRows, stepTimes } from "./chart_rows.ts";

const MODEL = profileOf(`
  net/a/conv = Conv2D() 30us
  net/a/relu = Relu() 10us
  net/b = Add() 40us
  loss = Mean() 20us
`);

function layout(kind: ViewName = "scope", options: Partial<Options> = {}) {
  return scopeRows(scopeViewOf(evaluate(MODEL, kind, withDefaults(options))), "time").map(placed);
}

function placed({ label, depth, x0, x1 }: ScopeRow): string {
  return `${depth} ${label} ${x0.toFixed(2)}-${x1.toFixed(2)}`;
}

test("each scope is as wide as its share, the largest first under the one it is in", () => {
  expect(layout()).toEqual([
    "0 all · 100 µs 0.00-1.00",
    "1 net 0.00-0.80",
    "2 a 0.00-0.40",
    "3 conv 0.00-0.30",
    "3 relu 0.30-0.40",
    "2 b 0.40-0.80",
    "1 loss 0.80-1.00",
  ]);
});

test("other views show the scopes of everything, whatever they display", () => {
  expect(layout("op", { minMicros: 1000 })).toEqual(layout());
});

test("in the scope view it is what is displayed", () => {
  expect(layout("scope", { minMicros: 30 })).toEqual([
    "0 all · 100 µs 0.00-1.00",
    "1 net 0.00-0.80",
    "2 a 0.00-0.40",
    "3 conv 0.00-0.30",
    "2 b 0.40-0.80",
  ]);
});

test("where scopes are hidden, those below them stand in their place", () => {
  const options = { hideNameRegexes: ["net"], accountDisplayedOpOnly: true };
  expect(layout("scope", options).slice(0, 3)).toEqual([
    "0 all · 100 µs 0.00-1.00",
    "1 a 0.00-0.40",
    "2 conv 0.00-0.30",
  ]);
});

test("scopes too narrow to see are one, which selects nothing", () => {
  const small = Array.from({ length: 5 }, (_, index) => `s${index} = Add() 5us`).join("\n");
  const rows = scopeRows(evaluate(profileOf(`${small}\nbig = Add() 975us`), "scope", withDefaults()), "time");
  expect(rows.map(placed)).toEqual(["0 all · 1 ms 0.00-1.00", "1 big 0.00-0.97", "1 … 0.97-1.00"]);
  expect(rows.at(-1)).toMatchObject({ name: "5 smaller scopes", exact: "25 µs" });
  expect(rows.at(-1)?.scope).toBeUndefined();
});

test("what lies below the deepest level, or in a scope too narrow to see, is counted once", () => {
  const deep = profileOf("a/b/c/d/e = Add() 960us\nn/x/y = Add() 20us\nm/x = Add() 9us\nm/y = Add() 11us");
  const view = evaluate(deep, "scope", withDefaults());
  const narrow = profileOf("a = Add() 985us\nn/x = Add() 7us\nm/y/z = Add() 8us");
  expect(scopeRows(view, "time").map(placed)).toEqual([
    "0 all · 1 ms 0.00-1.00",
    "1 a 0.00-0.96",
    "2 b 0.00-0.96",
    "3 c 0.00-0.96",
    "1 m 0.96-0.98",
    "2 y 0.96-0.97",
    "1 n 0.98-1.00",
    "2 x 0.98-1.00",
    "3 y 0.98-1.00",
  ]);
  expect(scopeRows(evaluate(narrow, "scope", withDefaults()), "time").at(-1)).toMatchObject({
    name: "2 smaller scopes",
    exact: "15 µs",
  });
});

test("what holds no flagged node fades", () => {
  const flags = Uint8Array.from(MODEL.nodes.names, (name) => (name === "net/a/conv" ? 1 : 0));
  const rows = scopeRows(evaluate(MODEL, "scope", withDefaults()), "time", flags);
  expect(rows.filter(({ opacity }) => opacity === 1).map(({ label }) => label)).toEqual([
    "all · 100 µs",
    "net",
    "a",
    "conv",
  ]);
});

test("nothing is drawn where nothing has the measure", () => {
  expect(scopeRows(evaluate(MODEL, "scope", withDefaults()), "memory")).toEqual([]);
});

/** Two steps: in the first, two overlapping executions and one without a start; nothing is known of starts in the second. */
function profile(): Profile {
  return {
    ...profileOf("a = Add() 5us;7us\nb = Add() 3us"),
    executions: {
      node: Int32Array.of(0, 1, 1, 0),
      step: Int32Array.of(0, 0, 0, 1),
      device: Int32Array.of(0, 0, 0, 0),
      threads: [""],
      thread: Int32Array.of(0, 0, 0, 0),
      startNanos: Float64Array.of(0, 1000, -1, -1),
      durationNanos: Float64Array.of(5000, 3000, 99_000, 7000),
    },
  };
}

test("a step takes from its first start to its last end, or its op time where no start is known", () => {
  const { spans, work } = stepTimes(profile());
  expect([...spans]).toEqual([5000, 7000]);
  expect([...work]).toEqual([8000, 7000]);
});

test("a bar says both, and which step it is", () => {
  expect(stepRows(profile(), -1)[0]).toMatchObject({
    step: "0",
    kind: "even",
    seconds: 5e-6,
    span: "5 µs",
    work: "8 µs",
  });
});

test("a chosen step is lit alone", () => {
  expect(stepRows(profile(), 1).map(({ opacity }) => opacity === 1)).toEqual([false, true]);
});

test("of too many steps neighbours share a bar, as long as the longest of them", () => {
  const times = Array.from({ length: 240 }, (_, step) => `${step === 101 ? 90 : 10}us`).join(";");
  const rows = stepRows(profileOf(`a = Add() ${times}`), 100);
  expect(rows).toHaveLength(120);
  expect(rows[50]).toMatchObject({ step: "100–101", number: 101, seconds: 9e-5, opacity: 1 });
});

test("of many kinds the rarer ones are one", () => {
  const kinds = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "", "g"];
  const named = { ...profile(), stepNames: kinds };
  expect(new Set(kindsOf(named))).toEqual(new Set(["a", "b", "c", "d", "e", "other runs"]));
  expect(kindsOf({ ...named, stepNames: ["", "x"] })).toEqual(["unnamed", "x"]);
});

test("steps of several workers are told by who ran them", () => {
  const several: Profile = { ...profile(), steps: [3, 3], stepWorkers: ["a", "b"] };
  expect(kindsOf(several)).toEqual(["a", "b"]);
  expect(stepRows(several, -1).map(({ step, kind }) => [step, kind])).toEqual([
    ["3 a", "a"],
    ["3 b", "b"],
  ]);
});
