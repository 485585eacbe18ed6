// Costs by op type of what is displayed, and the bars of their chart, with the fields that tfprof_widget/charts/costs.py names.

import { COST_TITLES, SIZES, STATIC_TITLE } from "../data/chart_words.ts";
import type { Nodes } from "../data/profile.ts";
import type { Metric } from "../data/protocol.ts";
import type { Measure } from "../engine/measures.ts";
import type { View } from "../engine/view.ts";
import { plainType, shortBytes, shortCount, shortTime, shortUnits, visible } from "../lib/format.ts";
import { type ChartContent, type ChartKind, type ChartSubject, namesWidth } from "./chart_content.ts";

/** A value an op type, in the order of the profile's `ops`; times in microseconds, float ops of the nodes that ran. */
export interface Costs {
  readonly ops: readonly string[];
  readonly nodes: Float64Array;
  readonly cpu: Float64Array;
  readonly accelerator: Float64Array;
  readonly bytes: Float64Array;
  readonly runs: Float64Array;
  readonly floatOps: Float64Array;
  /** Whether any of the flagged nodes is among those displayed. */
  readonly isFlagged: Uint8Array;
}

/** The own values of the displayed rows, summed by the op of their graph nodes; `flags` marks nodes to look out for. */
export function costsOf(view: View, flags: Uint8Array | null = null): Costs {
  const { nodes } = view.profile;
  const times = timesDisplayed(view);
  const isFlagged = new Uint8Array(nodes.ops.length);
  for (let node = 0; flags && node < flags.length; node++) {
    if (flags[node] && times[node]) isFlagged[nodes.op[node] as number] = 1;
  }
  const summed = (measure: Measure, counts: Int32Array): Float64Array => {
    const sums = sumsByOp(nodes, view.sums.measures.column(measure), counts);
    const unit = view.unit(measure);
    return sums.map((sum) => sum / unit);
  };
  return {
    ops: nodes.ops,
    nodes: countsByOp(nodes, times),
    cpu: summed("cpu_micros", times),
    accelerator: summed("accelerator_micros", times),
    bytes: summed("bytes", times),
    runs: summed("runs", times),
    floatOps: summed("float_ops", timesRun(view, times)),
    isFlagged,
  };
}

/** How often each graph node counts in the rows that are displayed. */
export function timesDisplayed({ forest, places, profile }: View): Int32Array {
  const { rows, rowStart } = forest.tree;
  const times = new Int32Array(profile.nodes.op.length);
  for (let i = 0; i < places.length; i++) {
    const place = places[i] as number;
    const last = rowStart[place + 1] as number;
    for (let row = rowStart[place] as number; row < last; row++) {
      times[rows[row] as number] = forest.weight[row] as number;
    }
  }
  return times;
}

/** The same without the nodes that never ran: they have float ops, but no time to set them against. */
function timesRun(view: View, times: Int32Array): Int32Array {
  const runs = view.sums.measures.column("runs");
  const found = new Int32Array(times.length);
  for (let node = 0; node < found.length; node++) {
    if ((runs[node] as number) > 0) found[node] = times[node] as number;
  }
  return found;
}

function sumsByOp({ ops, op }: Nodes, values: Float64Array, times: Int32Array): Float64Array {
  const sums = new Float64Array(ops.length);
  for (let node = 0; node < op.length; node++) {
    const type = op[node] as number;
    sums[type] = (sums[type] as number) + (values[node] as number) * (times[node] as number);
  }
  return sums;
}

function countsByOp({ ops, op }: Nodes, times: Int32Array): Float64Array {
  const counts = new Float64Array(ops.length);
  for (let node = 0; node < op.length; node++) {
    const type = op[node] as number;
    if (times[node]) counts[type] = (counts[type] as number) + 1;
  }
  return counts;
}

/** The cost of each op type by a metric. */
function costBy(costs: Costs, metric: Metric): Float64Array {
  switch (metric) {
    case "time":
      return costs.cpu.map((micros, op) => micros + (costs.accelerator[op] as number));
    case "memory":
      return costs.bytes;
    case "count":
      return costs.runs.some((count) => count > 0) ? costs.runs : costs.nodes;
    case "rate": {
      const micros = costBy(costs, "time");
      return costs.floatOps.map((count, op) => flopRate(count, micros[op] as number));
    }
  }
}

/** Float operations a second. */
function flopRate(floatOps: number, micros: number): number {
  return micros > 0 ? (floatOps * 1e6) / micros : 0;
}

/** A bar: an op type or, as the last, all others; where processors are told apart, a piece of it. */
export interface CostRow {
  readonly name: string;
  /** The name without the marks of oneDNN's kernels. */
  readonly shown: string;
  /** What a click selects; undefined for the bar of the others. */
  readonly op?: string | undefined;
  readonly part: "" | "CPU" | "accelerator";
  readonly value: number;
  readonly total: number;
  readonly label: string;
  /** The value with its unit. */
  readonly told: string;
  readonly exact: string;
  readonly share: string;
  readonly nodes: string;
  readonly runs: string;
  readonly opacity: number;
}

type Bar = Omit<CostRow, "shown" | "part" | "value" | "label" | "told" | "exact" | "share"> & {
  readonly members: readonly number[];
};

// Of the op types that are compared; the others are one bar.
const MOST_BARS = 12;
const FADED = 0.3;
const LEAST_SAID = 0.001;
const UNITS: Readonly<Record<Metric, readonly (readonly [size: number, unit: string])[]>> = {
  time: [
    [1e6, "s"],
    [1e3, "ms"],
    [1, "µs"],
    [1e-3, "ns"],
  ],
  memory: [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
    [1, "B"],
  ],
  count: [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
    [1, ""],
  ],
  rate: [
    [1e9, "GFLOP/s"],
    [1e6, "MFLOP/s"],
    [1e3, "kFLOP/s"],
    [1, "FLOP/s"],
  ],
};
const EXACT: Readonly<Record<Metric, string>> = { time: "µs", memory: "B", count: "", rate: "FLOP/s" };
const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

/** The costliest op types, and all others as one; where something is selected, what has no part in it fades. */
export function costRows(costs: Costs, metric: Metric, isSelecting = false): CostRow[] {
  const values = costBy(costs, metric);
  const order = [...values.keys()].filter((op) => (values[op] as number) > 0);
  order.sort((one, other) => (values[other] as number) - (values[one] as number));
  const groups = order.slice(0, MOST_BARS).map((op) => [op]);
  if (order.length > MOST_BARS) groups.push(order.slice(MOST_BARS));
  const size = (members: readonly number[]) => sizeOf(costs, metric, values, members);
  const bars = groups.map((members): Bar => barOf(costs, members, size(members), isSelecting));
  const whole = size(order);
  const largest = Math.max(0, ...bars.map(({ total }) => total));
  const [divisor, unit] = UNITS[metric].find(([least]) => largest >= least) ?? leastUnit(metric);
  const decimals = largest / divisor < 10 ? 2 : 1;
  const names = shownNames(bars.map(({ name }) => visible(name)));
  return bars.flatMap((bar, place) => {
    // The unit is said once, at the longest bar.
    const label = `${shortened(bar.total / divisor, decimals)}${place === 0 ? ` ${unit}` : ""}`.trim();
    const share = metric === "rate" ? "" : `${((100 * bar.total) / whole).toFixed(1)} %`;
    const shown = names[place] as string;
    return pieces(costs, metric, bar, { label, share, shown, told: TOLD[metric](bar.total) });
  });
}

const TOLD: Readonly<Record<Metric, (value: number) => string>> = {
  time: shortTime,
  memory: shortBytes,
  count: shortCount,
  rate: (value) => shortUnits(value, "FLOP/s"),
};

/** The names of op types without the marks of oneDNN's kernels, which only tell apart types of one name. */
function shownNames(names: readonly string[]): string[] {
  const short = names.map((name) => plainType(name));
  return names.map((name, place) => {
    const each = short[place] as string;
    const isAlone = name === each || short.indexOf(each) === short.lastIndexOf(each);
    return isAlone ? each : `${each} (${name.slice(0, name.length - each.length)})`;
  });
}

function leastUnit(metric: Metric): readonly [size: number, unit: string] {
  return UNITS[metric].at(-1) as readonly [number, string];
}

function barOf(costs: Costs, members: readonly number[], total: number, isSelecting: boolean): Bar {
  const [first = 0] = members;
  const op = members.length === 1 ? costs.ops[first] : undefined;
  const isLit = !isSelecting || members.some((member) => costs.isFlagged[member]);
  return {
    name: op ?? `others (${members.length} types)`,
    op,
    total,
    nodes: NUMBER.format(sum(costs.nodes, members)),
    runs: NUMBER.format(sum(costs.runs, members)),
    opacity: isLit ? 1 : FADED,
    members,
  };
}

/** The pieces of a bar; the first carries its label. */
function pieces(
  costs: Costs,
  metric: Metric,
  bar: Bar,
  { label, told, ...said }: Pick<CostRow, "label" | "share" | "shown" | "told">,
): CostRow[] {
  const { members, ...row } = bar;
  const parts =
    metric === "time"
      ? ([
          ["CPU", sum(costs.cpu, members)],
          ["accelerator", sum(costs.accelerator, members)],
        ] as const)
      : ([["", bar.total]] as const);
  return parts
    .filter(([, value]) => value > 0)
    .map(([part, value], piece) => ({
      ...row,
      ...said,
      part,
      value,
      label: piece === 0 ? label : "",
      told: piece === 0 ? told : "",
      exact: `${NUMBER.format(value)} ${EXACT[metric]}`.trim(),
    }));
}

/** What some op types cost together; their rate is that of their sums. */
function sizeOf(costs: Costs, metric: Metric, values: Float64Array, members: readonly number[]): number {
  if (metric !== "rate") return sum(values, members);
  return flopRate(sum(costs.floatOps, members), sum(costs.cpu, members) + sum(costs.accelerator, members));
}

function sum(values: Float64Array, members: readonly number[]): number {
  return members.reduce((total, member) => total + (values[member] as number), 0);
}

/** So many decimals, or as many digits where the value is below one. */
function shortened(value: number, decimals: number): string {
  if (value < LEAST_SAID) return `<${LEAST_SAID}`;
  return String(Number(value < 1 ? value.toPrecision(decimals) : value.toFixed(decimals)));
}

// The values of rows are in microseconds and the like.
const AXES: Readonly<Record<Metric, readonly [factor: number, suffix: string]>> = {
  time: [1e-6, "s"],
  memory: [1, "B"],
  count: [1, ""],
  rate: [1, "FLOP/s"],
};

function contentOf({ view, metric: asked, width }: ChartSubject): ChartContent {
  const isStatic = view.profile.steps.length === 0;
  const metric = isStatic ? "count" : asked;
  const rows = costRows(costsOf(view), metric);
  if (!rows.length) throw new Error("no shown row has a cost of its own");
  const bars = rows.filter(({ told }) => told);
  const [factor, suffix] = AXES[metric];
  const names = bars.map(({ shown }) => shown);
  return {
    spec: rows.some(({ part }) => part === "accelerator") ? "costs_by_processor" : "costs",
    data: { costs: rows.map(({ op: _, name, ...row }) => ({ ...row, name: visible(name) })) },
    height: SIZES.barHeight * bars.length,
    title: isStatic ? STATIC_TITLE : COST_TITLES[metric],
    signals: { ...namesWidth(names, width), factor, suffix },
    notes: kernelNotes(bars),
    of: "mean",
  };
}

/** Which op types are oneDNN's kernels, for their names no longer tell. */
function kernelNotes(bars: readonly CostRow[]): readonly string[] {
  const kernels = bars.filter(({ name, shown }) => plainType(name) !== name && !shown.endsWith(")"));
  if (!kernels.length) return [];
  return [`kernels of oneDNN (_Mkl…): ${kernels.map(({ shown }) => shown).join(", ")}`];
}

/** The chart of costs by op type. */
export const OP_TYPES: ChartKind = { name: "op types", content: contentOf };
