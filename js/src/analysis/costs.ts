// What is displayed now, by op type: the cost of each in time, memory, runs and FLOP rate.

import type { Nodes } from "../data/profile.ts";
import type { Metric } from "../data/protocol.ts";
import type { Measure } from "../engine/measures.ts";
import type { View } from "../engine/view.ts";

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
function timesDisplayed({ forest, places, profile }: View): Int32Array {
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
export function costBy(costs: Costs, metric: Metric): Float64Array {
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
export function flopRate(floatOps: number, micros: number): number {
  return micros > 0 ? (floatOps * 1e6) / micros : 0;
}
