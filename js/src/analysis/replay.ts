// Replays recorded steps with other durations: the rules of tfprof_widget/analysis/replay/, to the same numbers.

import { cacheOf, type Profile } from "../data/profile.ts";
import type { Numbers } from "../engine/columns.ts";
import { pathOf, type Schedule, type StepWork, scheduled } from "./replay_schedule.ts";

/** What steps would take, in nanoseconds; the nodes of the critical path in their order, without the change and with it. */
export interface Prediction {
  readonly predicted: number;
  readonly low: number;
  readonly high: number;
  readonly measured: number;
  readonly replayed: number;
  readonly steps: number;
  readonly before: readonly number[];
  readonly path: readonly number[];
}

const SLOWDOWNS = [0, 1];
const LEAST_OFF = 0.05;
const FEW_STEPS = 3;
const OUTER = [0.1, 0.9] as const;

/** The replay of a profile's steps, kept with it; a text says why there is none, empty where no step was recorded. */
export function replayOf(profile: Profile): Replay | string {
  return cacheOf(profile).kept("replay", () => {
    const { late } = profile;
    const [reason] = (late?.("replay.reason", "texts", true) as readonly string[] | undefined) ?? [];
    return reason ?? (late?.("replay.steps", "indices", true) ? new Replay(profile) : "");
  });
}

/** Recorded steps, and what they take unchanged. */
export class Replay {
  readonly #works: readonly StepWork[];
  readonly #unchanged: readonly Schedule[];
  readonly #fitted: number;
  readonly #spread: readonly [low: number, high: number];
  /** Pairs: a node that ran as part of another one, and the node whose kernel stands for it. */
  readonly #fused: Int32Array;
  /** Pairs: a node, and the op type that its kernel was of where that is another one. */
  readonly #retyped: Int32Array;

  constructor({ executions, late }: Profile) {
    const read = (name: string, kind: "indices" | "numbers") => late?.(`replay.${name}`, kind, true);
    const indices = (name: string) => (read(name, "indices") ?? new Int32Array()) as Int32Array;
    const numbers = (name: string) => (read(name, "numbers") ?? new Float64Array()) as Numbers;
    const [fitted = 0, low = 1, high = 1] = numbers("fitted");
    this.#fitted = fitted;
    this.#spread = [low, high];
    this.#fused = indices("fused");
    this.#retyped = indices("retyped");
    this.#works = worksOf(executions, indices, numbers);
    this.#unchanged = this.#works.map((work) => scheduled(work, null, 0));
  }

  /** Flag the nodes whose fused kernels stand for flagged ones. */
  withFused(flags: Uint8Array): Uint8Array {
    const found = flags.slice();
    for (let at = 0; at < this.#fused.length; at += 2) {
      if (flags[this.#fused[at] as number]) found[this.#fused[at + 1] as number] = 1;
    }
    return found;
  }

  /** Flag the nodes whose kernels were of a type, by its place, though they are of another one in the graph. */
  flagRetyped(isType: (op: number) => boolean, flags: Uint8Array): void {
    for (let at = 0; at < this.#retyped.length; at += 2) {
      if (isType(this.#retyped[at + 1] as number)) flags[this.#retyped[at] as number] = 1;
    }
  }

  /** Whether any of the flagged nodes ran in the steps. */
  ran(flags: Uint8Array): boolean {
    return this.#works.some(({ node }) => node.some((each) => flags[each]));
  }

  /** What the steps would take if each node took its factor of the time. */
  whatIf(factors: Numbers): Prediction {
    const works = this.#works;
    const isChanged = works.some(({ node }) => node.some((each) => factors[Math.max(each, 0)] !== 1));
    const overlaps = works.some(({ workers }) => Math.max(...workers) > 1);
    const fitted = isChanged && overlaps ? this.#fitted : 0;
    const slowdowns = isChanged && overlaps ? new Set([fitted, ...SLOWDOWNS]) : [0];
    let found = this.#unchanged;
    const bounds: number[] = [];
    for (const slowdown of slowdowns) {
      const replayed = isChanged ? works.map((work) => scheduled(work, factors, slowdown)) : this.#unchanged;
      bounds.push(...this.#around(replayed.map(({ nanos }) => nanos)));
      if (slowdown === fitted) found = replayed;
    }
    const typical = typicalOf(works);
    const pathIn = (schedules: readonly Schedule[]): readonly number[] =>
      pathOf(works[typical] as StepWork, schedules[typical] as Schedule);
    return {
      predicted: median(found.map(({ nanos }) => nanos)),
      low: Math.min(...bounds),
      high: Math.max(...bounds),
      measured: this.#measured,
      replayed: this.#replayed,
      steps: works.length,
      before: pathIn(this.#unchanged),
      path: pathIn(found),
    };
  }

  get #measured(): number {
    return median(this.#works.map(({ nanos }) => nanos));
  }

  get #replayed(): number {
    return median(this.#unchanged.map(({ nanos }) => nanos));
  }

  /** The interval around predictions of steps; the replay's own error widens it. */
  #around(taken: readonly number[]): readonly [low: number, high: number] {
    const middle = median(taken);
    let [low, high] = OUTER.map((share) => quantile(taken, share)) as [number, number];
    if (taken.length < FEW_STEPS) {
      low = Math.min(low, middle * this.#spread[0]);
      high = Math.max(high, middle * this.#spread[1]);
    }
    const off = this.#measured - this.#replayed;
    low = Math.min(low, middle * (1 - LEAST_OFF));
    high = Math.max(high, middle * (1 + LEAST_OFF));
    return [Math.max(Math.min(low, low + off), 0), Math.max(high, high + off)];
  }
}

/** The works of the steps: what was sent of them, and what follows from their executions. */
function worksOf(
  { node, step, startNanos, durationNanos }: Profile["executions"],
  indices: (name: string) => Int32Array,
  numbers: (name: string) => Numbers,
): StepWork[] {
  const [steps, sent, workers, queues] = ["steps", "sent", "workers", "queues"].map(indices) as Four;
  const [waits, sources, queue, inSent] = ["waits", "sources", "queue", "other"].map(indices) as Four;
  const [before, after, gaps] = ["before", "after", "gap"].map(numbers) as [Numbers, Numbers, Numbers];
  const moved = indices("other_node");
  const [begun, busy, release] = ["start", "busy", "release"].map((name) => numbers(`other_${name}`)) as [
    Numbers,
    Numbers,
    Numbers,
  ];
  const isLeftOut = new Set(indices("left_out"));
  const rows = new Map(Array.from(steps, (each): [number, number[]] => [each, []]));
  for (let row = 0; row < node.length; row++) {
    if ((startNanos[row] as number) >= 0 && !isLeftOut.has(row)) rows.get(step[row] as number)?.push(row);
  }
  let [place, other, edge, queued, described] = [0, 0, 0, 0, 0];
  return Array.from(steps, (each, at): StepWork => {
    const own = rows.get(each) as number[];
    own.sort((one, another) => (startNanos[one] as number) - (startNanos[another] as number));
    const isSent = (sent[at] as number) > 0;
    const count = isSent ? (sent[at] as number) : own.length;
    const origin = startNanos[own[0] as number] ?? 0;
    const columns = Array.from({ length: 4 }, () => new Float64Array(count));
    const [start, keeps, lasts, gap] = columns as [Numbers, Numbers, Numbers, Numbers];
    const [nodes, target, source] = [new Int32Array(count), [] as number[], [] as number[]];
    const missing = new Int32Array(count);
    const isInline = new Uint8Array(count);
    let [next, free] = [0, 0];
    for (let row = 0; row < count; row++) {
      const found = isSent && inSent[other] === place + row ? other++ : -1;
      if (found >= 0 && (moved[found] as number) >= 0) {
        nodes[row] = moved[found] as number;
        start[row] = begun[found] as number;
      } else {
        const execution = own[next++] as number;
        nodes[row] = node[execution] as number;
        start[row] = (startNanos[execution] as number) - origin;
        keeps[row] = lasts[row] = durationNanos[execution] as number;
      }
      if (found >= 0) {
        keeps[row] = busy[found] as number;
        lasts[row] = release[found] as number;
      }
      if (isSent) {
        const told = waits[place + row] as number;
        isInline[row] = told & 1;
        missing[row] = told >> 1;
        for (let count = told >> 1; count > 0; count--) {
          target.push(row);
          source.push(row - (sources[edge++] as number));
        }
        gap[row] = gaps[place + row] as number;
      } else {
        gap[row] = Math.max((start[row] as number) - free, 0);
        free = Math.max(free, (start[row] as number) + (keeps[row] as number));
      }
    }
    const pools = isSent
      ? workers.subarray(queued, queued + (queues[described] as number))
      : Int32Array.of(1);
    if (isSent) queued += queues[described++] as number;
    const [around, rest] = [before[at] as number, after[at] as number];
    const ended = start.reduce(
      (last, each, row) => Math.max(last, each + Math.max(keeps[row] as number, lasts[row] as number)),
      0,
    );
    const isPlain = keeps.every((each, row) => each === lasts[row]);
    const found: StepWork = {
      node: nodes,
      start,
      busy: keeps,
      release: lasts,
      gap,
      queue: isSent && queue.length ? queue.subarray(place, place + count) : new Int32Array(count),
      isInline,
      waits: missing,
      ...followersOf(count, source, target),
      workers: pools,
      before: around,
      after: rest,
      nanos: around + ended + rest,
      isChain: pools.length === 1 && pools[0] === 1 && isPlain,
      alone: new Map(),
    };
    if (isSent) place += count;
    return found;
  });
}

type Four = [Int32Array, Int32Array, Int32Array, Int32Array];

/** The rows that wait for each row, in their order. */
function followersOf(count: number, source: readonly number[], target: readonly number[]) {
  const first = new Int32Array(count + 1);
  for (const row of source) first[row + 1] = (first[row + 1] as number) + 1;
  for (let row = 0; row < count; row++) first[row + 1] = (first[row + 1] as number) + (first[row] as number);
  const [next, followers] = [first.slice(), new Int32Array(source.length)];
  source.forEach((row, edge) => {
    followers[next[row] as number] = target[edge] as number;
    next[row] = (next[row] as number) + 1;
  });
  return { first, followers };
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which this share of the values is, between two of them in a straight line, as NumPy has it. */
function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const [low, high] = [sorted[below] as number, sorted[Math.ceil(place)] as number];
  return low + (high - low) * (place - below);
}

/** The place of the step whose wall time is the median, the shorter one of two. */
function typicalOf(works: readonly StepWork[]): number {
  const order = [...works.keys()].sort(
    (one, other) => (works[one] as StepWork).nanos - (works[other] as StepWork).nanos,
  );
  return order[(order.length - 1) >> 1] as number;
}
