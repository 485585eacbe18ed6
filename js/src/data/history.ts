// The runs of a cell, and what the kernel finds when it compares two groups of them.

import { camelCased } from "./graphs.ts";
import type { Model } from "./model.ts";

/** A run of the cell; what is not known is null. */
export interface CellRun {
  readonly title: string;
  /** What the user called it beside that; empty where nothing. */
  readonly name: string;
  readonly taken: string;
  /** The median of its steps, with the interval that holds for this run. */
  readonly seconds: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly steps: number;
  readonly cell: number | null;
  /** The same for runs of the same code. */
  readonly version: number;
}

type Verdict = "slower" | "faster" | "no difference seen" | "cannot tell";

/** By how much a time changed; ratios are of after / before, null where nothing is known. */
export interface Change {
  readonly verdict: Verdict;
  readonly ratio: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly reason: string;
}

/** A row of a table of the comparison. */
export interface ChangedRow extends Omit<Change, "reason"> {
  readonly name: string;
  readonly beforeName: string;
  readonly beforeMicros: number | null;
  readonly afterMicros: number | null;
  readonly matchedBy: string;
  readonly status: "matched" | "added" | "removed";
}

export const COMPARED_BY = ["op", "layers", "scope", "code", "type"] as const;
export type ComparedBy = (typeof COMPARED_BY)[number];

/** What `ShownHistory.described` of tfprof_widget/widget/history.py gives. */
export interface RunComparison {
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly sentence: readonly (readonly [text: string, isAnswer: boolean])[];
  readonly notes: readonly string[];
  readonly step: Change;
  readonly cell: Change & { readonly text: string };
  readonly parts: readonly (Change & { readonly name: string })[];
  readonly tables: Readonly<Record<ComparedBy, readonly ChangedRow[]>>;
  /** How many rows there are in all. */
  readonly rows: Readonly<Record<ComparedBy, number>>;
  /** What changed in the code, as the lines of a unified diff. */
  readonly diff: readonly string[];
  /** What `--against` takes to run the code before once more; empty where nothing does. */
  readonly rival: string;
  /** Whether the kernel has the code of both sides to run, which differs. */
  readonly canRace: boolean;
  /** How the sides ran in turns, and what the control says; empty where they did not. */
  readonly raced: string;
}

/** The runs, the oldest first, and the groups that are compared at first. */
export interface CellHistory {
  readonly runs: readonly CellRun[];
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly comparison: RunComparison | null;
}

/** The history that a model has; one without runs where it has none. */
export function historyOf(model: Model): CellHistory {
  const told = camelCased(model.get("_history") ?? {}) as Partial<CellHistory>;
  return { runs: [], before: [], after: [], comparison: null, ...told };
}
