// When a device was busy and when it idled.

import type { Track } from "./lanes.ts";
import { firstAbove } from "./searching.ts";
import type { StepSpan } from "./timeline_layout.ts";

/** Ranges of time that neither touch nor overlap, by start. */
export interface Ranges {
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
