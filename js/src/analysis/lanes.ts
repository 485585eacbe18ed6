// Lays executions out in lanes: by device and thread, and where those of one thread overlap, a level further down.

import type { Executions } from "../data/profile.ts";
import { busyRanges, type Ranges } from "./busy.ts";

/** Slices that do not overlap, by start; times count from the left end of the layout, in nanoseconds. */
export interface Lane {
  readonly device: number;
  /** Which thread of the device, counted from 0 in the order of the threads' numbers. */
  readonly thread: number;
  /** How many slices of the thread run at least while one of this lane does. */
  readonly level: number;
  /** Whether it holds transfers to the device, which belong to none of its threads. */
  readonly isTransfers: boolean;
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Rows of the slices: of executions, or of transfers. */
  readonly execution: Int32Array;
}

/** The lanes of a device, and when anything ran on it at all. */
export interface Track {
  readonly device: number;
  readonly lanes: readonly Lane[];
  /** Whether the lanes are threads that were recorded, or only as many as it takes to show what overlaps. */
  readonly hasThreads: boolean;
  readonly busy: Ranges;
}

const NONE = new Int32Array(0);

/** The tracks of slices that come by start; `start` has the place of each, and from `firstTransfer` on they are transfers. */
export function tracksOf(
  executions: Executions,
  order: Int32Array,
  start: Float64Array,
  firstTransfer: number,
): Track[] {
  const duration = executions.durationNanos;
  const lanesOf = (slices: Int32Array, lane: Pick<Lane, "device" | "thread" | "isTransfers">): Lane[] =>
    levels(slices, start, duration).map((each, level) => ({
      ...lane,
      level,
      ...placed(each, start, duration),
    }));
  return groups(order, executions.device).map(([device, members]) => {
    const moved = firstTransfer < start.length ? members.filter((index) => index >= firstTransfer) : NONE;
    const executed = moved.length ? members.filter((index) => index < firstTransfer) : members;
    const threads = groups(executed, executions.thread);
    const lanes = threads.flatMap(([, slices], thread) =>
      lanesOf(slices, { device, thread, isTransfers: false }),
    );
    const transfers = moved.length ? lanesOf(moved, { device, thread: 0, isTransfers: true }) : [];
    return {
      device,
      lanes: [...lanes, ...transfers],
      hasThreads: threads.length > 1,
      busy: busyRanges(executed, start, duration),
    };
  });
}

/** The positions by the value of a column, ascending; those of one value stay in the order they come in. */
function groups(positions: Int32Array, column: Int32Array): [value: number, members: Int32Array][] {
  let [least, most] = [0, -1]; // -1 is the device of what has none
  for (const position of positions) {
    const value = column[position] as number;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const part = positions.map((position) => (column[position] as number) - least);
  const parts = parted(positions, part, most - least + 1);
  return parts
    .map((members, index) => [index + least, members] as [number, Int32Array])
    .filter(([, members]) => members.length);
}

/** Slices by start, each on the first level that is free when it starts. */
function levels(slices: Int32Array, start: Float64Array, duration: Float64Array): Int32Array[] {
  const free: number[] = [];
  const level = slices.map((index) => {
    const from = start[index] as number;
    let at = 0;
    while (at < free.length && (free[at] as number) > from) at++;
    free[at] = from + (duration[index] as number);
    return at;
  });
  return parted(slices, level, free.length);
}

/** Positions in as many parts, each in the part that its index in `part` names. */
function parted(positions: Int32Array, part: Int32Array, parts: number): Int32Array[] {
  if (parts === 1) return [positions];
  const size = new Int32Array(parts);
  for (const at of part) size[at] = (size[at] as number) + 1;
  const found = Array.from(size, (length) => new Int32Array(length));
  size.fill(0);
  for (let i = 0; i < positions.length; i++) {
    const at = part[i] as number;
    (found[at] as Int32Array)[size[at] as number] = positions[i] as number;
    size[at] = (size[at] as number) + 1;
  }
  return found;
}

function placed(execution: Int32Array, start: Float64Array, duration: Float64Array) {
  const from = new Float64Array(execution.length);
  const to = new Float64Array(execution.length);
  for (let slice = 0; slice < execution.length; slice++) {
    const index = execution[slice] as number;
    from[slice] = start[index] as number;
    to[slice] = (start[index] as number) + (duration[index] as number);
  }
  return { execution, start: from, end: to };
}
