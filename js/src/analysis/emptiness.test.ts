import { expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import { profileOf } from "../engine/testing.ts";
import {
  type EmptyTableReason,
  hiding,
  leftOut,
  remedyFor,
  whyNoLine,
  whyTableIsEmpty,
} from "./emptiness.ts";

const MODEL = profileOf("a/one = MatMul() 1500us 64B\na/two = Relu() 500us");
const STILL = profileOf("a/one = MatMul()");

function why(options: Partial<Options>, profile = MODEL, kind: ViewName = "scope"): EmptyTableReason | null {
  return whyTableIsEmpty(evaluate(profile, kind, withDefaults(options)));
}

test("a view with rows is not empty", () => {
  expect(why({ minMicros: 2000 })).toBeNull();
});

test.each<[Partial<Options>, string]>([
  [{ minMicros: 5000 }, "No row reaches min_micros = 5 ms: the largest has 2 ms."],
  [{ minBytes: 1_000_000 }, "No row reaches min_bytes = 1 MB: the largest has 64 B."],
  [{ minAcceleratorMicros: 1 }, "No row reaches min_accelerator_micros = 1 µs: the runs recorded none."],
  [{ minFloatOps: 5 }, "No row reaches min_float_ops = 5: no node has a FLOP formula and known shapes."],
  [{ showNameRegexes: ["Conv"] }, "No row passes show_name_regexes = Conv."],
  [
    { showNameRegexes: ["on|tw"], acrossWorkers: "sum" },
    "No row passes show_name_regexes = on|tw. show_name_regexes has to match whole names, as .*(?:on|tw).* does.",
  ],
  [
    { accountTypeRegexes: ["Mat"] },
    "No row passes account_type_regexes = Mat. account_type_regexes has to match whole names, as .*Mat.* does.",
  ],
  [
    { showNameRegexes: ["a/one"], hideNameRegexes: ["a/.*"] },
    "No row passes show_name_regexes = a/one and hide_name_regexes = a/.* together.",
  ],
])("%j gives a reason", (options, reason) => {
  expect(why(options)?.reason).toBe(reason);
});

test("what rows hide, and of what there is no row", () => {
  const lines = profileOf("a = Op() 4us | f.py:1:f\na/b = Op() 2us | f.py:1:f > f.py:2:g\na/b/c = Op() 1us");
  const scope = evaluate(lines, "scope", withDefaults({ maxDepth: 2 }));
  expect([leftOut(scope, "micros"), hiding(scope)]).toEqual([[3000, 0], ["max_depth"]]);
  const code = evaluate(lines, "code", withDefaults({ minMicros: 3 }));
  expect([leftOut(code, "micros"), hiding(code)]).toEqual([[2000, 1000], ["min_micros"]]);
  expect(hiding(evaluate(lines, "op", withDefaults()))).toEqual([]);
});

test.each<[string, string]>([
  [
    "eager/MatMul = Op() 5us\nb = Op() 1us",
    " (most ran one by one: put them into a tf.function to see their lines)",
  ],
  [
    "imported = Op() 5us\neager/Add = Op() 1us",
    " (an imported graph has none: build it in this program, or give an op_log written where it is built)",
  ],
  ["eager/MatMul = Op() 3us\nb = Op() 1us", ""],
])("of %j a code view says why it knows no line of most of the op time", (sketch, reason) => {
  const profile = profileOf(`a = Op() 4us | f.py:1:f\n${sketch}`);
  expect(whyNoLine(evaluate(profile, "code", withDefaults()))).toBe(reason);
});

test("in op view a threshold is compared with all that follows", () => {
  expect(why({ minMicros: 5000 }, MODEL, "op")?.reason).toBe(
    "No row reaches min_micros = 5 ms: the largest has 2 ms.",
  );
});

test("without a run nothing has a time", () => {
  expect(why({ minMicros: 1 }, STILL)?.reason).toBe(
    "No row reaches min_micros = 1 µs: no run was traced, so nothing has a time, a size or a count.",
  );
});

test("each filter can be reset, and all of them", () => {
  expect(why({ minMicros: 5000, hideNameRegexes: ["x"], step: 0 })?.remedies).toEqual([
    { label: "reset min_micros", changes: { minMicros: 0 } },
    { label: "reset hide_name_regexes", changes: { hideNameRegexes: [] } },
    { label: "reset all filters", changes: { minMicros: 0, hideNameRegexes: [] } },
  ]);
  expect(remedyFor("step")).toEqual({ label: "reset step", changes: { step: -1 } });
  expect(remedyFor("")).toBeNull();
});
