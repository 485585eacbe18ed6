import { expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import { profileOf } from "../engine/testing.ts";
import { type EmptyTableReason, remedyFor, whyTableIsEmpty } from "./emptiness.ts";

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
    { showNameRegexes: ["a/one"], hideNameRegexes: ["a/.*"] },
    "No row passes show_name_regexes = a/one and hide_name_regexes = a/.* together.",
  ],
])("%j gives a reason", (options, reason) => {
  expect(why(options)?.reason).toBe(reason);
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
