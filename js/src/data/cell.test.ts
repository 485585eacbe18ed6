import { expect, test } from "vitest";
import { type CapturedCells, cellOf, MARKS, type SampledLine, sampledLines } from "./cell.ts";
import type { Profile } from "./profile.ts";

const TEXTS: Readonly<Record<string, readonly string[]>> = {
  "cells.parts": ["steps", "python", "input"],
  "cells.workers": [""],
  "runs.kinds": ["fit"],
  "phases.names": ["step"],
  "frames.strings": ["/me/train.py", "main", "fit(x)", "/lib/keras.py", "fit", "slow()", "on_end"],
};
const NUMBERS: Readonly<Record<string, readonly number[]>> = {
  "cells.nanos": [9000],
  "cells.step_start": [1000],
  "runs.start": [1000],
  "runs.end": [3000],
  "runs.nanos": [2000],
  "phases.start": [1000],
  "phases.nanos": [2000],
  "calls.python": [1, 2, 4, 8],
  "calls.input": [0, 16, 0, 0],
  "calls.tracing": [0, 0, 0, 32],
  "looks.start": [4000],
  "looks.nanos": [500],
};
const INDICES: Readonly<Record<string, readonly number[]>> = {
  "cells.step_cell": [0],
  ...{ "runs.cell": [0], "runs.kind": [0], "runs.count": [1], "runs.mark": [2], "runs.step": [0] },
  ...{ "phases.cell": [0], "phases.name": [0] },
  // main calls Keras' fit, which calls on_end; main is there once more below on_end.
  ...{ "frames.file": [0, 3, 0], "frames.line": [3, 70, 9], "frames.function": [1, 4, 6] },
  ...{ "frames.source": [2, -1, 5] },
  ...{ "calls.above": [-1, 0, 1, 2], "calls.frame": [0, 1, 2, 0], "calls.looks": [1, 1, 1, 1] },
  ...{ "looks.cell": [0], "looks.call": [2], "looks.part": [1] },
};

/** A profile of one step of which nothing but these columns is looked at. */
function profileWith(late: NonNullable<Profile["late"]>): Profile {
  return { steps: [0], late } as Partial<Profile> as Profile;
}

/** A profile of one step with these columns, some of them changed. */
function captured(changed: Readonly<Record<string, readonly number[]>> = {}): Profile {
  const late = (name: string, kind: string, isOptional?: boolean) => {
    if (isOptional && !(name in TEXTS)) return undefined;
    if (kind === "texts") return TEXTS[name];
    if (kind === "numbers") return Float64Array.from(changed[name] ?? NUMBERS[name] ?? []);
    return Int32Array.from(changed[name] ?? INDICES[name] ?? []);
  };
  return profileWith(late as NonNullable<Profile["late"]>);
}

test("without a captured cell there is none", () => {
  expect(cellOf(profileWith(() => undefined))).toBeUndefined();
});

test("the columns are those that were sent", () => {
  const found = cellOf(captured());
  expect(found?.parts[found.looks.part[0] as number]).toBe("python");
  expect([...(found?.runs.end ?? [])]).toEqual([3000]);
  expect([...(found?.stepStart ?? [])]).toEqual([1000]);
  expect((found?.runs.mark[0] as number) & MARKS.recorded).toBeTruthy();
});

test("a line has the time of all that it calls, once where it is in a stack twice", () => {
  const expected: SampledLine[] = [
    { file: "/me/train.py", line: 3, python: 15, input: 16, tracing: 32, looks: 4 },
    { file: "/me/train.py", line: 9, python: 12, input: 0, tracing: 32, looks: 2 },
  ];
  expect(sampledLines(cellOf(captured()) as CapturedCells)).toEqual(expected);
});

test.each([
  ["runs.end", [3000, 4000], /runs.end has 2 entries, not 1/],
  ["cells.nanos", [1, 2], /cells.nanos has 2 entries, not 1/],
  ["cells.step_cell", [0, 0], /cells.step_cell has 2 entries, not 1/],
  ["cells.step_cell", [1], /cells.step_cell has the index 1, of 1/],
  ["looks.call", [4], /looks.call has the index 4, of 4/],
  ["looks.start", [Number.NaN], /looks.start has a number without measure/],
  ["calls.above", [-1, 0, 2, 1], /calls.above has a call above itself/],
])("damaged columns are refused: %s", (name, values, reason) => {
  expect(() => cellOf(captured({ [name]: values }))).toThrow(reason);
});
