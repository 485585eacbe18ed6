// Replays recorded steps with other durations: the rules of tfprof_widget/analysis/replay/, to the same numbers.

import { cacheOf, type Profile } from "../data/profile.ts";
import type { Numbers } from "../engine/columns.ts";
import { type StepWork, scheduled } from "./replay_schedule.ts";

/** What steps would take, in nanoseconds: the median of them, and between which bounds most are expected. */
export interface Prediction {
  readonly predicted: number;
  readonly low: number;
  readonly high: number;
  readonly measured: number;
  readonly replayed: number;
  readonly steps: number;
}

const SLOWDOWNS = [0, 1];
const LEAST_OFF = 0.05;

/** The replay of a profile's steps, kept with it; a text says why there is none, empty where no step was recorded. */
export function replayOf(profile: Profile): Replay | string {
  return cacheOf(profile).kept("replay", () => {
    const { late } = profile;
    const [reason] = (late?.("replay.reason", "texts", true) as readonly string[] | undefined) ?? [];
    return reason ?? (late?.("replay.steps", "indices", true) ? replayFrom(profile) : "");
  });
}

/** Recorded steps, which can be replayed with other durations. */
export interface Replay {
  /** Flag also the nodes whose fused kernels stand for flagged ones, which did not run themselves. */
  flagFused(flags: Uint8Array): void;
  /** Flag the nodes whose kernels were of a type, by its place, though they are of another one in the graph. */
  flagRetyped(isType: readonly boolean[], flags: Uint8Array): void;
  /** Whether any of the flagged nodes ran in the steps. */
  ran(flags: Uint8Array): boolean;
  /** What the steps would take if each node took its factor of the time. */
  whatIf(factors: Numbers): Prediction;
}

function replayFrom({ executions, late }: Profile): Replay {
  const read = (name: string, kind: "indices" | "numbers") => late?.(`replay.${name}`, kind, true) ?? [];
  const indices = (name: string) => Int32Array.from(read(name, "indices") as Int32Array);
  const numbers = (name: string) => Float64Array.from(read(name, "numbers") as Numbers);
  const [slowed = 0, lowest = 1, highest = 1] = numbers("fitted");
  // Pairs: a node that ran as part of another one and the node whose kernel stands for it; a node and its kernel's type.
  const [fused, retyped] = [indices("fused"), indices("retyped")];
  const works = worksOf(executions, indices, numbers);
  const unchanged = works.map((work) => scheduled(work, null, 0));
  const [measured, replayed] = [median(numbers("measured")), median(unchanged)];
  const overlaps = works.some(({ workers }) => Math.max(...workers) > 1);
  /** The interval around predictions of steps; the replay's own error widens it. */
  const around = (taken: readonly number[]): readonly number[] => {
    const [middle, off] = [median(taken), measured - replayed];
    const low = Math.min(quantile(taken, 0.1), middle * Math.min(lowest, 1 - LEAST_OFF));
    const high = Math.max(quantile(taken, 0.9), middle * Math.max(highest, 1 + LEAST_OFF));
    return [Math.max(Math.min(low, low + off), 0), Math.max(high, high + off)];
  };
  return {
    flagFused(flags) {
      for (let at = 0; at < fused.length; at += 2) {
        if (flags[fused[at] as number]) flags[fused[at + 1] as number] = 1;
      }
    },
    flagRetyped(isType, flags) {
      for (let at = 0; at < retyped.length; at += 2) {
        if (isType[retyped[at + 1] as number]) flags[retyped[at] as number] = 1;
      }
    },
    ran: (flags) => works.some(({ node }) => node.some((each) => flags[each])),
    whatIf(factors) {
      const isChanged = works.some(({ node }) => node.some((each) => factors[each] !== 1));
      const fitted = isChanged && overlaps ? slowed : 0;
      let found = unchanged;
      const bounds: number[] = [];
      for (const slowdown of isChanged && overlaps ? new Set([fitted, ...SLOWDOWNS]) : [0]) {
        const taken = isChanged ? works.map((work) => scheduled(work, factors, slowdown)) : unchanged;
        bounds.push(...around(taken));
        if (slowdown === fitted) found = taken;
      }
      return {
        predicted: median(found),
        low: Math.min(...bounds),
        high: Math.max(...bounds),
        measured,
        replayed,
        steps: works.length,
      };
    },
  };
}

/** The works of the steps: what was sent of them, and what follows from their executions. */
function worksOf(
  { node, step, startNanos, durationNanos }: Profile["executions"],
  indices: (name: string) => Int32Array,
  numbers: (name: string) => Numbers,
): StepWork[] {
  const [gives, targets, queue, others] = ["gives", "targets", "queue", "other"].map(
    indices,
  ) as Four<Int32Array>;
  const [steps, sent, workers, moved] = ["steps", "sent", "workers", "other_node"].map(
    indices,
  ) as Four<Int32Array>;
  const [gaps, begun, busies, releases] = ["gap", "other_start", "other_busy", "other_release"].map(
    numbers,
  ) as Four<Numbers>;
  const [before, after] = ["before", "after"].map(numbers) as [Numbers, Numbers];
  const pools = workers.length / steps.length;
  const rows = new Map(Array.from(steps, (each): [number, number[]] => [each, []]));
  const isLeftOut = new Set(indices("left_out"));
  step.forEach((each, row) => {
    if ((startNanos[row] as number) >= 0 && !isLeftOut.has(row)) rows.get(each)?.push(row);
  });
  // Where the next row, row that is no plain execution, and edge are in what was sent.
  let [place, other, edge] = [0, 0, 0];
  return Array.from(steps, (each, at): StepWork => {
    const own = rows.get(each) as number[];
    own.sort((one, next) => (startNanos[one] as number) - (startNanos[next] as number));
    const isChain = !sent[at];
    const count = sent[at] || own.length;
    const columns = Array.from({ length: 4 }, () => new Float64Array(count));
    const [start, busy, release, gap] = columns as unknown as Four<Numbers>;
    const [nodes, waits] = [new Int32Array(count), new Int32Array(count)];
    const [isInline, first] = [new Uint8Array(count), new Int32Array(count + 1)];
    let [next, free] = [0, 0];
    for (let row = 0; row < count; row++) {
      const found = !isChain && others[other] === place + row ? other++ : -1;
      if ((moved[found] ?? -1) >= 0) {
        nodes[row] = moved[found] as number;
        start[row] = begun[found] as number;
      } else {
        const execution = own[next++] as number;
        nodes[row] = node[execution] as number;
        start[row] = (startNanos[execution] as number) - (startNanos[own[0] as number] as number);
      }
      busy[row] = busies[found] ?? (durationNanos[own[next - 1] as number] as number);
      release[row] = releases[found] ?? (busy[row] as number);
      gap[row] = isChain ? Math.max((start[row] as number) - free, 0) : (gaps[place + row] as number);
      free = Math.max(free, (start[row] as number) + (busy[row] as number));
      const given = isChain ? 0 : (gives[place + row] as number);
      isInline[row] = given & 1;
      first[row + 1] = (first[row] as number) + (given >> 1);
    }
    const followers = targets.slice(edge, edge + (first[count] as number));
    for (let row = 0, next = 0; next < followers.length; next++) {
      while (next >= (first[row + 1] as number)) row++;
      const target = row + (followers[next] as number);
      followers[next] = target;
      waits[target] = (waits[target] as number) + 1;
    }
    edge += followers.length;
    const found: StepWork = {
      node: nodes,
      start,
      busy,
      release,
      gap,
      queue: queue.length && !isChain ? queue.subarray(place, place + count) : new Int32Array(count),
      isInline,
      waits,
      first,
      followers,
      workers: workers.subarray(pools * at, pools * (at + 1)),
      before: before[at] as number,
      after: after[at] as number,
      isChain,
      alone: new Map(),
    };
    place += sent[at] as number;
    return found;
  });
}

type Four<Column> = [Column, Column, Column, Column];

function median(values: ArrayLike<number>): number {
  return quantile(values, 0.5);
}

/** The value below which this share of the values is, between two of them in a straight line, as NumPy has it. */
function quantile(values: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const [low, high] = [sorted[below] as number, sorted[Math.ceil(place)] as number];
  return low + (high - low) * (place - below);
}
