// Executions and lanes written as drawings, for the tests beside this.

import type { Executions, Transfers } from "../data/profile.ts";
import type { Lane } from "./lanes.ts";

/** An execution: its place from the first to the last character of its letter, 10 ns each. */
interface Drawn {
  readonly device?: number;
  readonly thread?: number;
  readonly step?: number;
  /** As in "  aaaa": from 20 ns to 60 ns. */
  readonly drawn: string;
}

const NANOS = 10;

/** The executions in drawings, node by node. */
export function executionsOf(rows: readonly Drawn[]): Executions {
  const start = ({ drawn }: Drawn): number => drawn.search(/\S|$/);
  return {
    node: Int32Array.from(rows.keys()),
    step: Int32Array.from(rows, ({ step }) => step ?? 0),
    device: Int32Array.from(rows, ({ device }) => device ?? 0),
    threads: Array.from({ length: 1 + Math.max(0, ...rows.map(({ thread }) => thread ?? 0)) }, () => ""),
    thread: Int32Array.from(rows, ({ thread }) => thread ?? 0),
    startNanos: Float64Array.from(rows, (row) => (row.drawn ? start(row) * NANOS : -1)),
    durationNanos: Float64Array.from(rows, (row) => (row.drawn.length - start(row)) * NANOS),
  };
}

/** The 64 bytes of node 0 on their way in step 0, drawn as executions are. */
export function transferOf(way: {
  readonly from: string;
  readonly to: string;
  readonly drawn: string;
}): Transfers {
  const { startNanos, durationNanos } = executionsOf([way]);
  return {
    devices: [way.from, way.to],
    tensors: ["w:0"],
    kinds: ["RecvTensor"],
    step: Int32Array.of(0),
    kind: Int32Array.of(0),
    source: Int32Array.of(0),
    target: Int32Array.of(1),
    tensor: Int32Array.of(0),
    node: Int32Array.of(0),
    startNanos,
    durationNanos,
    bytes: Float64Array.of(64),
  };
}

/** A lane as a drawing: the last digit of each execution's index where it runs, a dot where nothing does. */
export function drawnLane({ start, end, execution }: Pick<Lane, "start" | "end" | "execution">): string {
  const line: string[] = [];
  execution.forEach((index, slice) => {
    for (let at = (start[slice] as number) / NANOS; at < (end[slice] as number) / NANOS; at++)
      line[at] = String(index % 10);
  });
  return Array.from(line, (character) => character ?? ".").join("");
}
