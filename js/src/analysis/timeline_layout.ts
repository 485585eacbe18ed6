// Where everything of some steps lies: the steps one after another, and in them the executions in lanes.

import { cacheOf } from "../data/memory.ts";
import type { Executions, Profile } from "../data/profile.ts";
import { type Track, tracksOf } from "./lanes.ts";
import { type Slices, slicesOf } from "./slices.ts";
import { sortedByKey } from "./sorting.ts";

/** Where a step lies; `step` is its index in the profile. */
export interface StepSpan {
  readonly step: number;
  readonly from: number;
  readonly to: number;
}

/** Everything in its place, in nanoseconds from the left end. */
export interface Layout {
  readonly tracks: readonly Track[];
  readonly steps: readonly StepSpan[];
  readonly end: number;
  /** How many executions and transfers have a place, and how many have none because they have no start time. */
  readonly slices: number;
  readonly transfers: number;
  readonly untimed: number;
}

/** The part of the steps' mean length that is left free between two of them. */
const SPACE = 0.04;

/** The layout of some steps of a profile, remembered with the profile. */
export function layoutOf(profile: Profile, chosen: readonly number[]): Layout {
  const make = () => laidOut(slicesOf(profile), chosen);
  return cacheOf(profile).recent(`timeline ${chosen.join()}`, make);
}

/** The layout of what happened in some steps; steps of one moment start together. */
export function laidOut(executions: Executions & Partial<Slices>, chosen: readonly number[]): Layout {
  const { step, startNanos, durationNanos, firstTransfer = step.length } = executions;
  const { timed, untimed } = timedOf(executions, new Set(chosen));
  const moment =
    executions.moment ?? Int32Array.from({ length: Math.max(-1, ...chosen) + 1 }, (_, each) => each);
  const spans = stepSpans(executions, timed, chosen, moment);
  const from = new Float64Array(moment.length);
  for (const span of spans) from[span.step] = span.from;
  const start = new Float64Array(step.length);
  for (const index of timed)
    start[index] = (startNanos[index] as number) + (from[moment[step[index] as number] as number] as number);
  const order = sortedByKey(timed, start);
  putLongerFirst(order, start, durationNanos);
  const end = Math.max(spans.at(-1)?.to ?? 0, 1);
  return {
    tracks: tracksOf(executions, order, start, firstTransfer),
    steps: spans,
    end,
    slices: timed.length,
    transfers: firstTransfer < step.length ? timed.filter((index) => index >= firstTransfer).length : 0,
    untimed,
  };
}

/** The executions of some steps that have a start time. */
function timedOf({ step, startNanos }: Executions, chosen: ReadonlySet<number>) {
  const isChosen = new Uint8Array(Math.max(-1, ...chosen) + 1);
  for (const each of chosen) isChosen[each] = 1;
  const timed = new Int32Array(step.length);
  let [count, untimed] = [0, 0];
  for (let index = 0; index < step.length; index++) {
    if (!isChosen[step[index] as number]) continue;
    if ((startNanos[index] as number) < 0) untimed += 1;
    else timed[count++] = index;
  }
  return { timed: timed.slice(0, count), untimed };
}

/** The place of each moment's step, as long as from its first start to the last end in it. */
function stepSpans(
  executions: Executions,
  timed: Int32Array,
  chosen: readonly number[],
  moment: Int32Array,
): StepSpan[] {
  const { step, startNanos, durationNanos } = executions;
  const lengths = new Float64Array(moment.length).fill(-1);
  for (const index of timed) {
    const end = (startNanos[index] as number) + (durationNanos[index] as number);
    const at = moment[step[index] as number] as number;
    if (end > (lengths[at] as number)) lengths[at] = end;
  }
  const moments = new Set(chosen.map((each) => moment[each] as number));
  const found = [...moments].filter((each) => (lengths[each] as number) >= 0);
  const total = found.reduce((sum, each) => sum + (lengths[each] as number), 0);
  const space = Math.ceil((SPACE * total) / Math.max(found.length, 1));
  let from = 0;
  return found.map((each) => {
    const span = { step: each, from, to: from + (lengths[each] as number) };
    from = span.to + space;
    return span;
  });
}

/** Of slices with one start the longer comes first, so that it lies above what it encloses. */
function putLongerFirst(order: Int32Array, start: Float64Array, duration: Float64Array): void {
  for (let first = 0, next = 1; first < order.length; first = next, next++) {
    const from = start[order[first] as number];
    while (next < order.length && start[order[next] as number] === from) next++;
    if (next - first === 1) continue;
    order
      .subarray(first, next)
      .sort((one, other) => (duration[other] as number) - (duration[one] as number) || one - other);
  }
}
