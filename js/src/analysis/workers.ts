// What each worker's own steps come to, row by row of a view, and how far the workers are apart.

import type { Profile } from "../data/profile.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import { type Measure, measures } from "../engine/measures.ts";
import { chosenSteps } from "../engine/steps.ts";
import { Sums } from "../engine/sums.ts";
import type { View } from "../engine/view.ts";
import { asRegex } from "../lib/exactly.ts";
import { workersAmong } from "./worker_names.ts";

/** What is compared: each row itself, or with all that is below it. */
export type ComparedPart = "own" | "total";

/** A row of the view, with a value a worker. */
export interface ComparedRow {
  readonly name: string;
  readonly values: readonly number[];
  readonly mean: number;
  /** The largest over the mean. */
  readonly spread: number;
  /** The largest less the smallest. */
  readonly difference: number;
}

/** The rows that differ most, the whole of the view, and how many rows are left out. */
export interface Comparison {
  readonly workers: readonly string[];
  readonly whole: ComparedRow;
  readonly rows: readonly ComparedRow[];
  readonly others: number;
}

/** What to compare by, and how many rows to tell. */
export interface ComparisonQuery {
  readonly measure: Measure;
  readonly part: ComparedPart;
  readonly most: number;
}

/** Compare the workers that the options choose over the rows of a view, those that differ most first. */
export function compareWorkers(
  profile: Profile,
  kind: ViewName,
  options: Options,
  asked: ComparisonQuery,
): Comparison {
  const shown = evaluate(profile, kind, options);
  const workers = workersAmong(
    chosenSteps(profile, options).map((step) => profile.stepWorkers[step] as string),
  );
  const sums = workers.map(
    (worker) => new Sums(shown.forest, measures(profile, { ...options, workerRegexes: [asRegex(worker)] })),
  );
  const isFlat = kind === "op"; // its rows have nothing below them
  const columns = sums.map((each) => columnOf(each, asked.measure, isFlat ? "own" : asked.part));
  const rows = listed(shown)
    .map((row) => {
      const place = shown.places[row] as number;
      return compared(
        shown.name(row),
        columns.map((column) => column(place)),
      );
    })
    .filter(({ values }) => values.some(Boolean))
    .sort((one, other) => other.difference - one.difference || other.mean - one.mean);
  const wholes = sums.map((each) => columnOf(each, asked.measure, "total")(0));
  return {
    workers,
    whole: compared("all", wholes),
    rows: rows.slice(0, asked.most),
    others: Math.max(rows.length - asked.most, 0),
  };
}

/** The rows of a view without the root's, which is the whole. */
function listed({ kind, rows }: View): readonly number[] {
  return [...Array(rows).keys()].slice(kind === "op" ? 0 : 1);
}

/** The measure of a place by itself or with what is below it. */
function columnOf(sums: Sums, measure: Measure, part: ComparedPart): (place: number) => number {
  const column = part === "own" ? sums.own(measure) : sums.total(measure);
  const unit = sums.measures.unit(measure);
  return (place) => (column[place] as number) / unit;
}

function compared(name: string, values: readonly number[]): ComparedRow {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return { name, values, mean, spread: mean ? most / mean : 1, difference: most - least };
}
