// Lays executions out in lanes, by device and thread, and says when a device was busy.

import type { Executions } from "../data/profile.ts";

/** What a lane shows that is above those of the devices: each row of its slices in words, and its colour. */
export interface Context {
  readonly label: string;
  name(row: number): string;
  /** A place among the colours of spans.ts. */
  colour(row: number): number;
  facts(row: number): readonly (readonly [label: string, value: string])[];
  /** The layer or line that a row is about, and the tab that has it. */
  link?(row: number): { readonly name: string; readonly tab: "layers" | "code" } | null;
}

/** Slices that do not overlap, by start; times count from the left end of the layout, in nanoseconds. */
export interface Lane {
  readonly device: number;
  /** Which thread of the device, counted from 0 in the order of the threads' numbers. */
  readonly thread: number;
  /** What the thread does; empty if it is not known. */
  readonly name: string;
  /** How many slices of the thread run at least while one of this lane does. */
  readonly level: number;
  /** Whether it holds transfers to the device, which belong to none of its threads. */
  readonly isTransfers: boolean;
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Rows of the slices: of executions, of transfers, or of the context. */
  readonly execution: Int32Array;
  readonly context?: Context;
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
  const lanesOf = (
    slices: Int32Array,
    lane: Pick<Lane, "device" | "thread" | "name" | "isTransfers">,
  ): Lane[] => stacked(slices, start, duration).map((each, level) => ({ ...lane, level, ...each }));
  return groups(order, executions.device).map(([device, members]) => {
    const moved = firstTransfer < start.length ? members.filter((index) => index >= firstTransfer) : NONE;
    const executed = moved.length ? members.filter((index) => index < firstTransfer) : members;
    const threads = groups(executed, executions.thread);
    const named = threads.map(([thread]) => executions.threads[thread] ?? "");
    const lanes = threads.flatMap(([, slices], thread) =>
      lanesOf(slices, { device, thread, name: named[thread] as string, isTransfers: false }),
    );
    const transfers = moved.length ? lanesOf(moved, { device, thread: 0, name: "", isTransfers: true }) : [];
    return {
      device,
      lanes: [...lanes, ...transfers],
      hasThreads: threads.length > 1 || named.some(Boolean),
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

/** Slices by start, of one start the longer first, in as many lanes as it takes that none overlaps another. */
export function stacked(slices: Int32Array, start: Float64Array, duration: Float64Array) {
  return levels(slices, start, duration).map((each) => placed(each, start, duration));
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

/** Ranges of time that neither touch nor overlap, by start. */
interface Ranges {
  readonly start: Float64Array;
  readonly end: Float64Array;
}

/** What a device did in some time. */
export interface DeviceUse {
  readonly device: number;
  readonly operations: number;
  /** The time in which anything ran, in which nothing did, and what ran added up. */
  readonly busy: number;
  readonly idle: number;
  readonly work: number;
  /** The longest time in which nothing ran, null if there is none. */
  readonly longestGap: { readonly from: number; readonly to: number } | null;
}

/** The union of slices that come by start. */
export function busyRanges(slices: Int32Array, start: Float64Array, duration: Float64Array): Ranges {
  const ranges = { start: new Float64Array(slices.length), end: new Float64Array(slices.length) };
  let last = -1;
  for (const index of slices) {
    const from = start[index] as number;
    const to = from + (duration[index] as number);
    if (last >= 0 && from <= (ranges.end[last] as number)) {
      if (to > (ranges.end[last] as number)) ranges.end[last] = to;
    } else {
      last += 1;
      ranges.start[last] = from;
      ranges.end[last] = to;
    }
  }
  return { start: ranges.start.slice(0, last + 1), end: ranges.end.slice(0, last + 1) };
}

/** What a device did from one time to another; the space between steps counts as neither busy nor idle. */
export function useOf(track: Track, steps: readonly StepSpan[], from: number, to: number): DeviceUse {
  let [busy, idle, operations, work] = [0, 0, 0, 0];
  let longest: DeviceUse["longestGap"] = null;
  for (const step of steps) {
    const left = Math.max(step.from, from);
    const right = Math.min(step.to, to);
    if (left >= right) continue;
    let free = left;
    const gap = (until: number): void => {
      idle += Math.max(until - free, 0);
      if (until - free > (longest ? longest.to - longest.from : 0)) longest = { from: free, to: until };
    };
    const { start, end } = track.busy;
    for (let at = firstAbove(end, left); at < end.length && (start[at] as number) < right; at++) {
      gap(Math.max(start[at] as number, left));
      free = Math.min(end[at] as number, right);
      busy += free - Math.max(start[at] as number, left);
    }
    gap(right);
  }
  for (const { start, end, isTransfers } of track.lanes) {
    if (isTransfers) continue;
    for (let at = firstAbove(end, from); at < end.length && (start[at] as number) < to; at++) {
      operations += 1;
      work += Math.min(end[at] as number, to) - Math.max(start[at] as number, from);
    }
  }
  return { device: track.device, operations, busy, idle, work, longestGap: longest };
}

/** The first index at which an ascending array has more than `value`; its length if it nowhere has. */
export function firstAbove(ascending: Float64Array, value: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] as number) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

const BITS = 16;
const DIGITS = 2 ** BITS;
const WORD = 2 ** 32;

/**
 * The positions in `order` by ascending key; positions with the same key stay as they are. Keys are whole, not
 * negative and below 2**53.
 */
export function sortedByKey(order: Int32Array, keys: Float64Array): Int32Array {
  let largest = 0;
  for (const position of order) if ((keys[position] as number) > largest) largest = keys[position] as number;
  let [sorted, spare] = [order.slice(), new Int32Array(order.length)];
  for (let unit = 1; unit <= largest; unit *= WORD) {
    const word = new Uint32Array(keys.length);
    for (let i = 0; i < keys.length; i++) word[i] = Math.floor((keys[i] as number) / unit) % WORD;
    for (let shift = 0; shift < 32 && largest >= unit * 2 ** shift; shift += BITS) {
      sortByDigit(sorted, spare, word, shift);
      [sorted, spare] = [spare, sorted];
    }
  }
  return sorted;
}

function sortByDigit(from: Int32Array, to: Int32Array, word: Uint32Array, shift: number): void {
  const next = new Int32Array(DIGITS + 1);
  for (let i = 0; i < from.length; i++) {
    const digit = ((word[from[i] as number] as number) >>> shift) % DIGITS;
    next[digit + 1] = (next[digit + 1] as number) + 1;
  }
  for (let digit = 0; digit < DIGITS; digit++) {
    next[digit + 1] = (next[digit + 1] as number) + (next[digit] as number);
  }
  for (let i = 0; i < from.length; i++) {
    const digit = ((word[from[i] as number] as number) >>> shift) % DIGITS;
    const place = next[digit] as number;
    next[digit] = place + 1;
    to[place] = from[i] as number;
  }
}

/** Whether a track stands above those of the devices. */
export function isContext({ lanes: [first] }: Track): boolean {
  return first?.context !== undefined;
}

/** A lane's name among those of its device. */
export function laneLabel(track: Track, lane: Lane): string {
  if (lane.context) return lane.context.label;
  if (lane.isTransfers) return lane.level ? `transfers, level ${lane.level}` : "transfers";
  return `${lane.name ? "" : track.hasThreads ? "thread " : "lane "}${laneNumber(track, lane)}`;
}

/** A lane among those of its device: the name or number of its thread, and how many slices it lies below the first. */
export function laneNumber({ hasThreads }: Track, { thread, name, level }: Lane): string {
  if (!hasThreads) return String(level);
  return `${name || thread}${level ? `, level ${level}` : ""}`;
}

/** Where a step lies; `step` is its index in the profile. */
export interface StepSpan {
  readonly step: number;
  readonly from: number;
  readonly to: number;
}
