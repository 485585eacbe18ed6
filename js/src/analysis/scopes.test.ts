import { expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import { profileOf } from "../engine/testing.ts";
import { type ScopeRow, scopeRows, scopeViewOf } from "./scopes.ts";

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
