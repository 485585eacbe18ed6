// Places steps, executions and transfers in time: where each starts, and in which lane it lies.

import { cacheOf, type Executions, type Profile } from "../data/profile.ts";
import { visible } from "../lib/format.ts";
import { deviceLabel, workersAmong } from "./devices.ts";
import { type StepSpan, sortedByKey, type Track, tracksOf } from "./lanes.ts";

/** Everything in its place, in nanoseconds from the left end. */
export interface Layout {
  readonly tracks: readonly Track[];
  readonly steps: readonly StepSpan[];
  readonly end: number;
  /** Where times are counted from 0: in each step, or in the whole cell. */
  readonly axis: readonly { readonly from: number; readonly to: number }[];
  /** How many executions and transfers have a place, and how many have none because they have no start time. */
  readonly slices: number;
  readonly transfers: number;
  readonly untimed: number;
  /** The executions and transfers that have a place, by start, and the start of each of all. */
  readonly order: Int32Array;
  readonly start: Float64Array;
}

/** The part of the steps' mean length that is left free between two of them. */
const SPACE = 0.04;

/** The layout of some steps of a profile, one after another, remembered with the profile. */
export function layoutOf(profile: Profile, chosen: readonly number[]): Layout {
  const make = () => laidOut(slicesOf(profile), chosen);
  return cacheOf(profile).recent(`timeline ${chosen.join()}`, make);
}

/**
 * The layout of what happened in some steps; steps of one moment start together. With `began`, each step is where it
 * began, and those of which that is not known (-1) are left out; else they lie one after another.
 */
export function laidOut(
  executions: Executions & Partial<Slices>,
  chosen: readonly number[],
  began?: Float64Array,
): Layout {
  const { step, startNanos, durationNanos, firstTransfer = step.length } = executions;
  const placed = began ? chosen.filter((each) => (began[each] ?? -1) >= 0) : chosen;
  const { timed, untimed } = timedOf(executions, new Set(placed));
  const moment =
    executions.moment ?? Int32Array.from({ length: Math.max(-1, ...chosen) + 1 }, (_, each) => each);
  const spans = stepSpans(executions, timed, placed, moment, began);
  const from = new Float64Array(moment.length);
  for (const span of spans) from[span.step] = span.from;
  const start = new Float64Array(step.length);
  for (const index of timed)
    start[index] = (startNanos[index] as number) + (from[moment[step[index] as number] as number] as number);
  const order = sortedByKey(timed, start);
  putLongerFirst(order, start, durationNanos);
  const end = Math.max(...spans.slice(began ? 0 : -1).map(({ to }) => to), 1);
  return {
    tracks: tracksOf(executions, order, start, firstTransfer),
    steps: spans,
    axis: spans,
    end,
    slices: timed.length,
    transfers: firstTransfer < step.length ? timed.filter((index) => index >= firstTransfer).length : 0,
    untimed,
    order,
    start,
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
  began?: Float64Array,
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
    if (began) from = began[each] as number;
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

/** A device as one of the workers has it; there is no worker where all is one process's. */
interface LaidDevice {
  readonly worker: string;
  readonly name: string;
}

/** A row an execution or, from `firstTransfer` on, a transfer, which is on the device that got the tensor. */
export interface Slices extends Executions {
  readonly firstTransfer: number;
  /** What `device` indexes. */
  readonly devices: readonly LaidDevice[];
  /** By step the first one of its number: what workers did in a step lies side by side. */
  readonly moment: Int32Array;
}

/** The slices of a profile, kept with it. */
export function slicesOf(profile: Profile): Slices {
  return cacheOf(profile).kept("slices", () => {
    const { executions, transfers, nodes, steps, stepWorkers } = profile;
    const names = [...new Set([...nodes.devices, ...transfers.devices])];
    const firstTransfer = executions.node.length;
    const target = transfers.devices.map((device) => names.indexOf(device));
    const joined = transfers.step.length ? joinedWith(profile, target) : executions;
    const first = new Map<number, number>();
    const moment = Int32Array.from(steps, (number, step) => {
      if (!first.has(number)) first.set(number, step);
      return first.get(number) as number;
    });
    if (!stepWorkers.length) {
      return { ...joined, firstTransfer, moment, devices: names.map((name) => ({ worker: "", name })) };
    }
    const all = [...names, ""]; // the last is that of what has none
    const workers = workersAmong(stepWorkers);
    const rank = new Map(workers.map((worker, index) => [worker, index]));
    const offset = stepWorkers.map((worker) => (rank.get(worker) as number) * all.length);
    return {
      ...joined,
      firstTransfer,
      moment,
      device: joined.device.map(
        (device, row) =>
          (offset[joined.step[row] as number] as number) + (device < 0 ? names.length : device),
      ),
      devices: workers.flatMap((worker) => all.map((name) => ({ worker, name }))),
    };
  });
}

/** A device by the name that people say, behind that of its worker. */
export function laidDeviceLabel({ devices }: Slices, device: number, names: readonly string[]): string {
  const { worker, name } = devices[device] ?? { worker: "", name: "" };
  const label = deviceLabel(name, names);
  return worker ? `${visible(worker)} · ${label}` : label;
}

function joinedWith({ executions, transfers }: Profile, target: readonly number[]): Executions {
  return {
    node: afterEachOther(executions.node, transfers.node),
    step: afterEachOther(executions.step, transfers.step),
    device: afterEachOther(
      executions.device,
      transfers.target.map((device) => target[device] as number),
    ),
    threads: executions.threads,
    thread: afterEachOther(executions.thread, new Int32Array(transfers.step.length)),
    startNanos: afterEachOther(executions.startNanos, transfers.startNanos),
    durationNanos: afterEachOther(executions.durationNanos, transfers.durationNanos),
  };
}

function afterEachOther<Column extends Int32Array | Float64Array>(one: Column, other: Column): Column {
  const joined = new (one.constructor as new (length: number) => Column)(one.length + other.length);
  joined.set(one);
  joined.set(other, one.length);
  return joined;
}

/** A lane, counted over all devices, and which track it belongs to. */
export interface MiniLane {
  readonly track: number;
  readonly lane: number;
}

const MOST = 6;

/** The lanes in which most time was spent executing, in their usual order. */
export function busiestLanes({ tracks }: Layout): readonly MiniLane[] {
  const all = tracks.flatMap(({ lanes }, track) =>
    lanes.map((lane) => ({ track, work: workIn(lane), isTransfers: lane.isTransfers })),
  );
  const counted = all.map((each, lane) => ({ ...each, lane })).filter(({ isTransfers }) => !isTransfers);
  const busiest = counted.sort((one, other) => other.work - one.work).slice(0, MOST);
  return busiest.sort((one, other) => one.lane - other.lane).map(({ track, lane }) => ({ track, lane }));
}

function workIn({ start, end }: { readonly start: Float64Array; readonly end: Float64Array }): number {
  let work = 0;
  for (let slice = 0; slice < start.length; slice++)
    work += (end[slice] as number) - (start[slice] as number);
  return work;
}
