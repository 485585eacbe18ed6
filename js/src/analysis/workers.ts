// Compares workers row by row, and writes the figures of tasks, links and transfers.

import type { Link, MovedTensor } from "../data/graphs.ts";
import type { Profile } from "../data/profile.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import { type Measure, measures } from "../engine/measures.ts";
import { chosenSteps } from "../engine/steps.ts";
import { Sums } from "../engine/sums.ts";
import type { View } from "../engine/view.ts";
import { asRegex, short, shortTime, shortUnits, visible } from "../lib/format.ts";
import { placeLabel, workersAmong } from "./devices.ts";

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
interface ComparisonQuery {
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

/** A column of the table. */
interface ComparedColumn {
  readonly title: string;
  readonly help: string;
  readonly text: (row: ComparedRow) => string;
}

/** The columns for so many workers; of two, `from` is the one that the other is measured against. */
export function comparedColumns(measure: Measure, workers: number, from: 0 | 1): readonly ComparedColumn[] {
  if (workers !== 2) {
    return [
      { title: "mean", help: "of all workers", text: ({ mean }) => short(measure, mean) },
      {
        title: "spread",
        help: "the largest over the mean: 1.00 × where all are alike",
        text: ({ spread }) => times(spread, 1),
      },
    ];
  }
  const ends = ({ values }: ComparedRow): readonly [number, number] => [
    values[from] ?? 0,
    values[1 - from] ?? 0,
  ];
  return [
    {
      title: "difference",
      help: "the second less the first",
      text: (row) => {
        const [before, after] = ends(row);
        const sign = after > before ? "+" : after < before ? "−" : "";
        return sign + short(measure, Math.abs(after - before));
      },
    },
    {
      title: "ratio",
      help: "the second over the first",
      text: (row) => {
        const [before, after] = ends(row);
        return before === 0 && after > 0 ? "new" : times(after, before);
      },
    },
  ];
}

/** The links of a sender and a receiver added up. */
export interface Cell extends Omit<Link, "kind"> {
  readonly kinds: readonly string[];
}

/** The tasks that sent and that got anything, in the order of the tasks, and the cells between them. */
interface LinkMatrix {
  readonly sources: readonly string[];
  readonly targets: readonly string[];
  readonly cell: (source: string, target: string) => Cell | undefined;
  /** The most bytes of a cell. */
  readonly largest: number;
  /** How many senders and receivers there is no room for. */
  readonly others: number;
}

/** The matrix of the senders and receivers with the most bytes, at most so many of each. */
export function linkMatrix(links: readonly Link[], most: number, tasks: readonly string[]): LinkMatrix {
  const cells = new Map<string, Cell>();
  for (const link of links) {
    const key = keyOf(link.source, link.target);
    const before = cells.get(key);
    cells.set(key, before ? added(before, link) : { ...link, kinds: [link.kind] });
  }
  const sources = byBytes(links, ({ source }) => source);
  const targets = byBytes(links, ({ target }) => target);
  return {
    sources: inOrder(sources.slice(0, most), tasks),
    targets: inOrder(targets.slice(0, most), tasks),
    cell: (source, target) => cells.get(keyOf(source, target)),
    largest: Math.max(0, ...[...cells.values()].map(({ bytes }) => bytes)),
    others: Math.max(sources.length - most, 0) + Math.max(targets.length - most, 0),
  };
}

function keyOf(source: string, target: string): string {
  return JSON.stringify([source, target]);
}

function added(before: Cell, link: Link): Cell {
  return {
    source: before.source,
    target: before.target,
    kinds: [...new Set([...before.kinds, link.kind])],
    count: before.count + link.count,
    bytes: before.bytes + link.bytes,
    transferNanos: before.transferNanos + link.transferNanos,
    waitNanos: before.waitNanos + link.waitNanos,
  };
}

function inOrder(names: readonly string[], tasks: readonly string[]): readonly string[] {
  return [...names].sort((one, other) => tasks.indexOf(one) - tasks.indexOf(other));
}

function byBytes(links: readonly Link[], end: (link: Link) => string): readonly string[] {
  const sums = new Map<string, number>();
  for (const link of links) sums.set(end(link), (sums.get(end(link)) ?? 0) + link.bytes);
  return [...sums].sort(([, one], [, other]) => other - one).map(([name]) => name);
}

/** The columns of the table. */
export type TransferColumn =
  | "tensor"
  | "kind"
  | "source"
  | "target"
  | "count"
  | "bytes"
  | "time"
  | "rate"
  | "wait";

/** By which column, and which way. */
export interface Sorting {
  readonly column: TransferColumn;
  readonly isDescending: boolean;
}

const VALUES: Readonly<Record<TransferColumn, (transfer: MovedTensor) => string | number>> = {
  tensor: ({ tensor }) => tensor,
  kind: ({ kind }) => kind,
  source: ({ source }) => source,
  target: ({ target }) => target,
  count: ({ count }) => count,
  bytes: ({ bytes }) => bytes,
  time: ({ transferNanos }) => transferNanos,
  rate: ({ bytes, transferNanos }) => (transferNanos > 0 ? bytes / transferNanos : 0),
  wait: ({ waitNanos }) => waitNanos,
};

/** The transfers, sorted; those that are equal stay in their order. */
export function sortedTransfers(
  transfers: readonly MovedTensor[],
  { column, isDescending }: Sorting,
): readonly MovedTensor[] {
  const value = VALUES[column];
  const sign = isDescending ? -1 : 1;
  return [...transfers].sort((one, other) => {
    const [left, right] = [value(one), value(other)];
    return left === right ? 0 : left < right ? -sign : sign;
  });
}

/** What a click on a column's head makes of the sorting: numbers fall at first, names rise, and the same again turns it. */
export function turned(sorting: Sorting, column: TransferColumn): Sorting {
  if (sorting.column === column) return { column, isDescending: !sorting.isDescending };
  return { column, isDescending: !["tensor", "kind", "source", "target"].includes(column) };
}

const NANOS_A_MICRO = 1000;
const NANOS_A_SECOND = 1e9;

/** A task, or a device of one, by the name that people say: ps 0, worker 1 · CPU:0. */
export function placed(name: string): string {
  return visible(placeLabel(name, true));
}

/** Nanoseconds. */
export function time(nanos: number): string {
  return shortTime(nanos / NANOS_A_MICRO);
}

/** How fast so many bytes went in so much time; nothing is said of what took none, or had none. */
export function byteRate(bytes: number, nanos: number): string {
  return nanos > 0 && bytes > 0 ? shortUnits((bytes * NANOS_A_SECOND) / nanos, "B/s") : "–";
}

/** A value as so many times another: 1.39 ×. */
export function times(value: number, of: number): string {
  return of ? `${(value / of).toFixed(2)} ×` : "–";
}

/** A part of a whole that is at most 1. */
export function percent(part: number | null): string {
  return part === null ? "–" : `${Math.round(100 * part)} %`;
}

/** How far a clock is from the first task's, and how sure that is. */
export function offset(nanos: number, error: number | null): string {
  if (error === null) return "not known";
  if (nanos === 0 && error === 0) return "reference";
  return `${nanos < 0 ? "−" : "+"}${time(Math.abs(nanos))} ± ${time(error)}`;
}
