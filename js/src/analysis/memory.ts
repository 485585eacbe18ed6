// Memory over time: what each device held in a step, event by event, and whose it was at the peak.

import { cacheOf, type Profile } from "../data/profile.ts";

/** The allocations and releases on a device in one step, in order of time. */
export interface DeviceMemory {
  /** An index of the nodes' devices; -1 for none. */
  readonly device: number;
  /** The rows of the profile's allocations. */
  readonly events: Int32Array;
  readonly nanos: Float64Array;
  /** What is held after each event; the least is 0, for what was held before is not known. */
  readonly held: Float64Array;
  /** What is held before the first event, as far as it is known by being released. */
  readonly before: number;
  /** The event after which the most is held, the first of them. */
  readonly peak: number;
}

/** What a node holds. */
export interface Holder {
  readonly node: number;
  readonly bytes: number;
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

/** The nodes whose memory is held at the peak, the largest first; without what was held before the step. */
export function holdersAtPeak(
  { allocations, executions }: Profile,
  { events, peak }: DeviceMemory,
): Holder[] {
  const byNode = new Map<number, number>();
  for (const event of events.subarray(0, peak + 1)) {
    const node = executions.node[allocations.execution[event] as number] as number;
    byNode.set(node, (byNode.get(node) ?? 0) + (allocations.bytes[event] as number));
  }
  return largestFirst(byNode);
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

function deviceMemory({ allocations }: Profile, device: number, events: Int32Array): DeviceMemory {
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
    held[i] = (held[i] as number) - least;
    if ((held[i] as number) > (held[peak] as number)) peak = i;
  }
  const nanos = Float64Array.from(events, (event) => allocations.nanos[event] as number);
  return { device, events, nanos, held, before: 0 - least, peak };
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
