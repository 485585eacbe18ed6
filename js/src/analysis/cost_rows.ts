// The rows of the chart of costs, as tfprof_widget/widget/charts.py names their fields.

import type { Metric } from "../data/protocol.ts";
import { type Costs, costBy, flopRate } from "./costs.ts";

/** A bar: an op type or, as the last, all others; where processors are told apart, a piece of it. */
export interface CostRow {
  readonly name: string;
  /** What a click selects; undefined for the bar of the others. */
  readonly op?: string | undefined;
  readonly part: "" | "CPU" | "accelerator";
  readonly value: number;
  readonly total: number;
  readonly label: string;
  readonly exact: string;
  readonly share: string;
  readonly nodes: string;
  readonly runs: string;
  readonly opacity: number;
}

type Bar = Omit<CostRow, "part" | "value" | "label" | "exact" | "share"> & {
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
  const [divisor, unit] = UNITS[metric].find(([least]) => largest >= least) ?? [1, ""];
  const decimals = largest / divisor < 10 ? 2 : 1;
  return bars.flatMap((bar, place) => {
    // The unit is said once, at the longest bar.
    const label = `${shortened(bar.total / divisor, decimals)}${place === 0 ? ` ${unit}` : ""}`.trim();
    const share = metric === "rate" ? "" : `${((100 * bar.total) / whole).toFixed(1)} %`;
    return pieces(costs, metric, bar, label, share);
  });
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
function pieces(costs: Costs, metric: Metric, bar: Bar, label: string, share: string): CostRow[] {
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
      part,
      value,
      label: piece === 0 ? label : "",
      exact: `${NUMBER.format(value)} ${EXACT[metric]}`.trim(),
      share,
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
