// Memory over time: what each device held in a step, event by event, and whose it was at the peak.

import { ALLOCATORS_TITLE, SIZES } from "../data/chart_words.ts";
import type { Allocator } from "../data/graphs.ts";
import { cacheOf, type Profile } from "../data/profile.ts";
import { chosenSteps } from "../engine/steps.ts";
import { shortBytes, shortTime, visible } from "../lib/format.ts";
import type { ChartContent, ChartData, ChartKind, ChartSubject } from "./chart_content.ts";
import { deviceLabel } from "./devices.ts";
import { type HeldKind, kindOf, knowsRoles, variablesOf } from "./memory_kinds.ts";

/** The allocations and releases on a device in one step, in order of time. */
export interface DeviceMemory {
  /** An index of the nodes' devices; -1 for none. */
  readonly device: number;
  /** The rows of the profile's allocations. */
  readonly events: Int32Array;
  readonly nanos: Float64Array;
  /** What is held after each event, with variables, and with what was held before as far as its release tells. */
  readonly held: Float64Array;
  /** What is held before the first event. */
  readonly before: number;
  /** The event after which the most is held, the first of them. */
  readonly peak: number;
}

/** What a node holds, and for what; a variable without a row of its own has the node -1. */
export interface Holder {
  readonly node: number;
  readonly bytes: number;
  readonly kind?: HeldKind;
}

/** A point of a curve. */
interface Point {
  readonly nanos: number;
  readonly bytes: number;
}

/** The memory of each device that something was allocated on in a step, by its index; the largest peak first. */
export function memoryOfStep(profile: Profile, step: number): readonly DeviceMemory[] {
  return cacheOf(profile).recent(`memory of step ${step}`, () => devicesOfStep(profile, step));
}

function devicesOfStep(profile: Profile, step: number): readonly DeviceMemory[] {
  const { allocations, executions } = profile;
  const byDevice = new Map<number, number[]>();
  for (const event of eventsByStep(profile)[step] ?? []) {
    const device = executions.device[allocations.execution[event] as number] as number;
    const events = byDevice.get(device);
    if (events) events.push(event);
    else byDevice.set(device, [event]);
  }
  const found = [...byDevice].map(([device, events]) =>
    deviceMemory(profile, device, Int32Array.from(events)),
  );
  return found.sort((one, other) => peakBytes(other) - peakBytes(one));
}

/** The one of these steps with the largest peak, the first of them; -1 where nothing was allocated in any. */
export function stepWithMostMemory(profile: Profile, steps: readonly number[]): number {
  return cacheOf(profile).recent(`step with most memory of ${steps.join()}`, () => {
    let [found, most] = [-1, 0];
    for (const step of steps) {
      // Not kept: of many steps they would take the place of the views that are kept.
      const [largest] = devicesOfStep(profile, step);
      if (!largest || peakBytes(largest) <= most) continue;
      [found, most] = [step, peakBytes(largest)];
    }
    return found;
  });
}

/** What is held at the peak. */
export function peakBytes({ held, peak }: DeviceMemory): number {
  return held[peak] ?? 0;
}

/** What is held after an event, or before the first one (-1), the largest first: by variables, and by ops by kind. */
export function holdersAfter(profile: Profile, { device, events }: DeviceMemory, last: number): Holder[] {
  const { allocations, executions } = profile;
  const byExecution = new Map<number, number>();
  for (const event of events.subarray(0, last + 1)) {
    const execution = allocations.execution[event] as number;
    byExecution.set(execution, (byExecution.get(execution) ?? 0) + (allocations.bytes[event] as number));
  }
  const at = allocations.nanos[events[last] ?? -1] ?? 0;
  const byNode = new Map<number, { bytes: number; isOver: boolean }>();
  for (const [execution, bytes] of byExecution) {
    const node = executions.node[execution] as number;
    const end =
      (executions.startNanos[execution] as number) + (executions.durationNanos[execution] as number);
    const sum = byNode.get(node) ?? { bytes: 0, isOver: true };
    sum.bytes += bytes;
    if (bytes > 0 && end >= at) sum.isOver = false;
    byNode.set(node, sum);
  }
  const ofOps = Array.from(byNode, ([node, { bytes, isOver }]) => ({
    node,
    bytes,
    ...(knowsRoles(profile) && { kind: kindOf(profile, node, isOver) }),
  }));
  const variables = variablesOf(profile).filter((each) => each.device === device);
  return [...variables, ...ofOps]
    .filter(({ bytes }) => bytes > 0)
    .sort((one, other) => other.bytes - one.bytes || one.node - other.node);
}

/** The nodes whose memory is held at the peak, and for what. */
export function holdersAtPeak(profile: Profile, device: DeviceMemory): Holder[] {
  return holdersAfter(profile, device, device.peak);
}

/** The last event that was no later than a time, -1 if there is none. */
export function eventAt({ nanos }: DeviceMemory, time: number): number {
  return nanos.findLastIndex((each) => each <= time);
}

/** What flagged nodes hold at the peak of each device, in the step that the tab of memory shows; null where it is not known. */
export function aliveAtPeak(profile: Profile, steps: readonly number[], flags: Uint8Array): number | null {
  const step = stepWithMostMemory(profile, steps);
  if (step < 0) return null;
  const holders = memoryOfStep(profile, step).flatMap((device) => holdersAtPeak(profile, device));
  return holders.reduce((sum, { node, bytes }) => sum + (flags[node] ? bytes : 0), 0);
}

/** What each node asked for in a step, where no allocation tells when; the largest first. */
export function requestedInStep({ stepTotals }: Profile, step: number): Holder[] {
  const byNode = new Map<number, number>();
  for (let row = 0; row < stepTotals.step.length; row++) {
    if (stepTotals.step[row] === step)
      byNode.set(stepTotals.node[row] as number, stepTotals.requestedBytes[row] as number);
  }
  return largestFirst(byNode);
}

/** The curve in so many stretches of time at most: of each the largest value and the last, so that no peak is lost. */
export function curveOf({ nanos, held, before }: DeviceMemory, stretches: number): Point[] {
  const [first, last] = [nanos[0] ?? 0, nanos.at(-1) ?? 0];
  const stretchOf = (event: number) =>
    Math.min(
      stretches - 1,
      Math.floor((stretches * ((nanos[event] as number) - first)) / (last - first || 1)),
    );
  // What is held when the step starts.
  const points: Point[] = [{ nanos: Math.min(0, first), bytes: before }];
  for (let start = 0, end = 0; start < nanos.length; start = end) {
    let largest = start;
    while (end < nanos.length && stretchOf(end) === stretchOf(start)) {
      if ((held[end] as number) > (held[largest] as number)) largest = end;
      end++;
    }
    for (const event of new Set([largest, end - 1])) {
      points.push({ nanos: nanos[event] as number, bytes: held[event] as number });
    }
  }
  return points;
}

/** Compares devices, or allocators by theirs: accelerators first, and 2 before 10. */
export function byDevice(one: string, other: string): number {
  const isHost = (name: string) => Number(/cpu|host/i.test(name));
  return isHost(one) - isHost(other) || one.localeCompare(other, "en", { numeric: true });
}

// Of the size of the chart: a label is at most so wide and so high.
const [WIDTH, LINE] = [0.15, 0.07];

/** How many lines below its point each label stands, or above it where that is negative, so that none is over another. */
export function linesBelow(
  points: readonly { readonly seconds: number; readonly bytes: number }[],
  duration: number,
): number[] {
  const most = Math.max(...points.map(({ bytes }) => bytes), 1);
  const placed: { readonly left: number; readonly height: number }[] = [];
  return points.map(({ seconds, bytes }) => {
    const [at, height] = [seconds / (duration || 1), bytes / most];
    const left = at > 0.5 ? at - WIDTH : at; // labels of the right half end at their points
    const isFree = (line: number) =>
      placed.every(
        (other) =>
          Math.abs(other.left - left) >= WIDTH ||
          Math.abs(other.height - (height - line * LINE)) >= 0.99 * LINE,
      );
    const lines = placed.flatMap((_, place) =>
      height - (place + 1) * LINE > 0 ? [place + 1] : [-place - 1],
    );
    const line = [0, ...lines].find(isFree) ?? 0;
    placed.push({ left, height: height - line * LINE });
    return line;
  });
}

function deviceMemory(profile: Profile, device: number, events: Int32Array): DeviceMemory {
  const { allocations } = profile;
  const variables = variablesOf(profile)
    .filter((each) => each.device === device)
    .reduce((sum, { bytes }) => sum + bytes, 0);
  // As recorded where the clock, which counts microseconds, shows no difference.
  events.sort(
    (one, other) => (allocations.nanos[one] as number) - (allocations.nanos[other] as number) || one - other,
  );
  const held = new Float64Array(events.length);
  let [sum, least] = [0, 0];
  for (let i = 0; i < events.length; i++) {
    sum += allocations.bytes[events[i] as number] as number;
    least = Math.min(least, sum);
    held[i] = sum;
  }
  let peak = 0;
  for (let i = 0; i < held.length; i++) {
    held[i] = (held[i] as number) - least + variables;
    if ((held[i] as number) > (held[peak] as number)) peak = i;
  }
  const nanos = Float64Array.from(events, (event) => allocations.nanos[event] as number);
  return { device, events, nanos, held, before: variables - least, peak };
}

/** The rows of the allocations in each step. */
function eventsByStep(profile: Profile): readonly number[][] {
  return cacheOf(profile).kept("allocations by step", () => {
    const { allocations, executions, steps } = profile;
    const found: number[][] = steps.map(() => []);
    for (let event = 0; event < allocations.execution.length; event++) {
      found[executions.step[allocations.execution[event] as number] as number]?.push(event);
    }
    return found;
  });
}

function largestFirst(byNode: ReadonlyMap<number, number>): Holder[] {
  return [...byNode]
    .map(([node, bytes]) => ({ node, bytes }))
    .filter(({ bytes }) => bytes > 0)
    .sort((one, other) => other.bytes - one.bytes || one.node - other.node);
}

// As many as a chart has pixels to show.
const STRETCHES = 300;
const LINE_HEIGHT = 14;

/** A point of a chart of memory, as tfprof_widget/charts/memory.py names its fields. */
function pointOf(name: string, peak: Point, { nanos, bytes }: Point) {
  return {
    device: name,
    told: `${name}: peak ${shortBytes(peak.bytes)} at ${shortTime(peak.nanos / 1e3)}`,
    seconds: nanos / 1e9,
    bytes,
    when: shortTime(nanos / 1e3),
    exact: `${bytes.toLocaleString("en")} B`,
  };
}

/** The rows of a curve, and of its peak. */
function curveRows(name: string, points: readonly Point[], peak: Point) {
  const ends = [...points.slice(1), points.at(-1) as Point];
  return {
    memory: points.map((point, at) => ({
      ...pointOf(name, peak, point),
      until: (ends[at] as Point).nanos / 1e9,
    })),
    peaks: [{ ...pointOf(name, peak, peak), label: `peak ${shortBytes(peak.bytes)}` }],
  };
}

/** What a device or an allocator held: the points by time, and the peak. */
interface Curve {
  readonly name: string;
  readonly points: readonly Point[];
  readonly peak: Point;
}

/** The rows of curves; those that are alike are one: drawn over each other their colours would mix to grey. */
function together(curves: readonly Curve[]) {
  const groups: [Curve, ...Curve[]][] = [];
  for (const curve of curves) {
    const group = groups.find(([first]) => areLike(first, curve));
    if (group) group.push(curve);
    else groups.push([curve]);
  }
  const rows = groups.map((group) => {
    const fullest = group.reduce((one, other) => (other.peak.bytes > one.peak.bytes ? other : one));
    return curveRows(groupName(group), fullest.points, fullest.peak);
  });
  return { memory: rows.flatMap(({ memory }) => memory), peaks: rows.flatMap(({ peaks }) => peaks) };
}

function groupName(group: readonly [Curve, ...Curve[]]): string {
  const [first, last] = [group[0].name, group.at(-1)?.name];
  if (group.length === 1) return first;
  return group.length === 2 ? `${first} and ${last}, alike` : `${first} … ${last}, ${group.length} alike`;
}

const LIKE = 0.01;

/** Whether two curves are apart by less than this share of the peak, in the mean over time, and so are their peaks. */
function areLike(one: Curve, other: Curve): boolean {
  const peak = Math.max(one.peak.bytes, other.peak.bytes);
  if (Math.abs(one.peak.bytes - other.peak.bytes) > LIKE * peak) return false;
  const times = [...one.points, ...other.points].map(({ nanos }) => nanos).sort((a, b) => a - b);
  const [heldByOne, heldByOther] = [heldAt(one, times), heldAt(other, times)];
  let apart = 0;
  for (let at = 0; at + 1 < times.length; at++) {
    const lasted = (times[at + 1] as number) - (times[at] as number);
    apart += Math.abs((heldByOne[at] as number) - (heldByOther[at] as number)) * lasted;
  }
  return apart <= LIKE * peak * ((times.at(-1) ?? 0) - (times[0] ?? 0));
}

/** What is held from each of these times on. */
function heldAt({ points }: Curve, times: readonly number[]): number[] {
  let [next, held] = [0, 0];
  return times.map((time) => {
    for (; next < points.length && (points[next] as Point).nanos <= time; next++)
      held = (points[next] as Point).bytes;
    return held;
  });
}

/** The curves and peaks of devices. */
export function memoryRows({ nodes }: Profile, devices: readonly DeviceMemory[]) {
  return together(
    devices.map((device) => {
      const name = visible(deviceLabel(nodes.devices[device.device] ?? "", nodes.devices));
      const peak = { nanos: device.nanos[device.peak] ?? 0, bytes: peakBytes(device) };
      return { name, points: curveOf(device, STRETCHES), peak };
    }),
  );
}

/** The curves and peaks of allocators. */
export function allocatorRows(allocators: readonly Allocator[]) {
  return together(
    allocators
      .filter(({ nanos }) => nanos.length)
      .map(({ name, nanos, bytes, peak }) => {
        const points = bytes.map((each, at) => ({ nanos: nanos[at] ?? 0, bytes: each }));
        const at = bytes.indexOf(Math.max(...bytes));
        return { name: visible(name), points, peak: { nanos: nanos[at] ?? 0, bytes: peak } };
      }),
  );
}

/** The rows for the page, where each peak has a label: none is over another, and accelerators come before hosts. */
export function labelled({ memory, peaks }: ReturnType<typeof together>): ChartData {
  const sorted = peaks.toSorted((one, other) => byDevice(one.device, other.device));
  const below = linesBelow(sorted, Math.max(...memory.map(({ seconds }) => seconds), 0));
  return {
    memory,
    peaks: sorted.map((peak, place) => ({ ...peak, below: LINE_HEIGHT * (below[place] ?? 0) })),
  };
}

/** Of which step the memory is. */
export function memoryTitle(
  { steps, stepNames, stepWorkers }: Profile,
  step: number,
  isOfSeveral: boolean,
): string {
  const name = [stepNames[step], stepWorkers[step]]
    .map((each) => (each ? ` · ${visible(each)}` : ""))
    .join("");
  const most = isOfSeveral ? ", the one with the largest peak" : "";
  return `Memory over time, step ${steps[step]}${name}${most}`;
}

function contentOf({ view: { profile, options }, graph }: ChartSubject): ChartContent {
  const steps = chosenSteps(profile, options);
  const step = stepWithMostMemory(profile, steps);
  const drawn = { spec: "memory", height: SIZES.memoryHeight, of: "told" } as const;
  if (step >= 0) {
    const data = memoryRows(profile, memoryOfStep(profile, step));
    return { ...drawn, data, title: memoryTitle(profile, step, steps.length > 1) };
  }
  const data = allocatorRows(graph.accelerators?.allocators ?? []);
  if (!data.peaks.length) throw new Error("no run recorded when memory was held");
  return { ...drawn, data, title: ALLOCATORS_TITLE };
}

/** The chart of memory. */
export const MEMORY: ChartKind = { name: "memory", content: contentOf };
