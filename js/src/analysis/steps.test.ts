import { expect, test } from "vitest";
import type { Profile } from "../data/profile.ts";
import { profileOf } from "../engine/testing.ts";
import { kindsOf, stepRows, stepTimes } from "./steps.ts";

/** Two steps: in the first, two overlapping executions and one without a start; nothing is known of starts in the second. */
function profile(): Profile {
  return {
    ...profileOf("a = Add() 5us;7us\nb = Add() 3us"),
    executions: {
      node: Int32Array.of(0, 1, 1, 0),
      step: Int32Array.of(0, 0, 0, 1),
      device: Int32Array.of(0, 0, 0, 0),
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
