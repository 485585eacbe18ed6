// Schedules the work of a step on its workers as TensorFlow's executor does; scheduler.py has the same rules.

import type { Numbers } from "../engine/columns.ts";
import { firstAbove } from "./lanes.ts";

/** The work of a step, a row for each execution or transfer by start, in nanoseconds; Python's `StepWork` tells more. */
export interface StepWork {
  readonly node: Int32Array;
  readonly start: Numbers;
  readonly busy: Numbers;
  readonly release: Numbers;
  readonly gap: Numbers;
  readonly queue: Int32Array;
  readonly isInline: Uint8Array;
  /** How many rows each row waits for, and those that wait for it: `followers` from `first` on. */
  readonly waits: Int32Array;
  readonly first: Int32Array;
  readonly followers: Int32Array;
  readonly workers: Int32Array;
  readonly before: number;
  readonly after: number;
  /** Whether one worker runs the rows one after the other. */
  readonly isChain: boolean;
  /** What gaps and busy times would be alone, by slowdown, where no row is gone. */
  readonly alone: Map<number, Alone>;
}

type Alone = readonly [gap: Numbers, busy: Numbers];

/** Up to this, a gap before a row is what the runtime takes to start it: it goes with a row that is gone. */
const GONE_NANOS = 20_000;

/** How long the step takes if each node takes its factor of the time; gaps stay as they were. */
export function scheduled(work: StepWork, factors: Numbers | null, slowdown: number): number {
  const { node, busy, workers } = work;
  const factor = Float64Array.from(node, (each) => (factors ? (factors[each] as number) : 1));
  const gone = factor.reduce((count, each) => count + (each ? 0 : 1), 0);
  const gap = gone
    ? work.gap.map((each, row) => (factor[row] ? each : Math.max(each - GONE_NANOS, 0)))
    : work.gap;
  let last = 0;
  if (work.isChain) {
    for (let row = 0; row < node.length; row++)
      last += (gap[row] as number) + (busy[row] as number) * (factor[row] as number);
  } else {
    const effective = Math.max(...workers) > 1 ? slowdown : 0;
    last = simulated(work, effective ? aloneIn(work, gap, effective) : [gap, busy], factor, effective);
  }
  return work.before + last + work.after * (node.length ? 1 - gone / node.length : 1);
}

/** How long the gap and the busy time of each row would last if no other row slowed it down. */
function aloneIn(work: StepWork, gap: Numbers, slowdown: number): Alone {
  const known = gap === work.gap && work.alone.get(slowdown);
  if (known) return known;
  const { start, busy } = work;
  const begin = start.map((each, row) => each - (gap[row] as number));
  const end = start.map((each, row) => each + (busy[row] as number));
  const isBusy = (_: number, row: number): boolean => (busy[row] as number) > 0;
  const [begins, ends] = [begin.filter(isBusy).sort(), end.filter(isBusy).sort()];
  const times = Float64Array.from([...begins, ...ends]).sort();
  const done = new Float64Array(times.length);
  let [begun, ended] = [0, 0];
  for (let at = 0; at < times.length - 1; at++) {
    const time = times[at] as number;
    while ((begins[begun] as number) <= time) begun++;
    while ((ends[ended] as number) <= time) ended++;
    const pace = 1 / (1 + slowdown * (Math.max(begun - ended, 1) - 1));
    done[at + 1] = (done[at] as number) + ((times[at + 1] as number) - time) * pace;
  }
  const doneAt = (time: number): number => {
    const low = Math.max(firstAbove(times, time) - 1, 0);
    const [from, base] = [times[low] as number, done[low] as number];
    if (time <= from || low === times.length - 1) return base;
    const slope = ((done[low + 1] as number) - base) / ((times[low + 1] as number) - from);
    return slope * (time - from) + base;
  };
  const lasting = (from: Numbers, to: Numbers, otherwise: Numbers): Numbers =>
    otherwise.map((each, row) =>
      (busy[row] as number) > 0 ? doneAt(to[row] as number) - doneAt(from[row] as number) : each,
    );
  const found: Alone = [lasting(begin, start, gap), lasting(start, end, busy)];
  if (gap === work.gap) work.alone.set(slowdown, found);
  return found;
}

/** Insert a row where it stands by its key: the least is the last, and of equal ones the first row. */
function insert(rows: number[], row: number, keys: ArrayLike<number>): void {
  const key = keys[row] as number;
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = rows[middle] as number;
    if ((keys[other] as number) > key || (keys[other] === key && other > row)) low = middle + 1;
    else high = middle;
  }
  rows.splice(low, 0, row);
}

/**
 * Simulate the workers, event by event; returns when the last row ends.
 *
 * A worker runs what is in its own line first. When it ends a row, inline rows that may now begin join its line. The
 * last of the others does so if the line is empty, and the rest waits in the queue for any worker.
 */
function simulated(work: StepWork, [gap, busy]: Alone, factor: Numbers, slowdown: number): number {
  const { release, queue, isInline, first, followers } = work;
  const missing = work.waits.slice();
  const idle = work.workers.slice();
  const [places, until] = [queue.map((_, row) => row), gap.slice()];
  const waiting = Array.from(idle, (): number[] => []);
  const [running, released]: [number[], number[]] = [[], []];
  const lines: number[][] = []; // that of a worker belongs to the row that it runs
  let [now, done] = [0, 0];
  const begin = (row: number, line: number[]): void => {
    until[row] = done + ((gap[row] as number) + (busy[row] as number) * (factor[row] as number));
    lines[row] = line;
    insert(running, row, until);
  };
  const give = (row: number): void => {
    const of = queue[row] as number;
    if (idle[of]) {
      idle[of] = (idle[of] as number) - 1;
      begin(row, []);
    } else insert(waiting[of] as number[], row, places);
  };
  /** Hand the rows over that wait for nothing but a row. */
  const letBegin = (row: number, begins: (row: number) => void): void => {
    for (let at = first[row] as number; at < (first[row + 1] as number); at++) {
      const each = followers[at] as number;
      missing[each] = (missing[each] as number) - 1;
      if (!missing[each]) begins(each);
    }
  };
  for (const row of places) if (!missing[row]) give(row);
  while (running.length || released.length) {
    const [next, late] = [running.at(-1), released.at(-1)];
    const slower = 1 + slowdown * Math.max(running.length - 1, 0);
    const nextEnd = next === undefined ? Infinity : now + ((until[next] as number) - done) * slower;
    if (late !== undefined && (until[late] as number) < nextEnd) {
      const moment = until[late] as number;
      released.pop();
      done += (moment - now) / slower;
      now = moment;
      letBegin(late, give);
      continue;
    }
    const row = running.pop() as number;
    const of = queue[row] as number;
    const line = lines[row] as number[];
    done = until[row] as number;
    now = nextEnd;
    if (release[row] !== work.busy[row]) {
      // What a row releases later than it leaves its worker goes by the clock: nothing slows it.
      until[row] = now + ((release[row] as number) - (work.busy[row] as number)) * (factor[row] as number);
      insert(released, row, until);
    } else {
      let kept = -1;
      letBegin(row, (each) => {
        if (queue[each] !== of) give(each);
        else if (isInline[each]) line.push(each);
        else {
          if (kept >= 0) give(kept);
          kept = each;
        }
      });
      if (kept >= 0) {
        if (line.length) give(kept);
        else line.push(kept);
      }
    }
    const following = line.shift() ?? waiting[of]?.pop();
    if (following === undefined) idle[of] = (idle[of] as number) + 1;
    else begin(following, line);
  }
  return now;
}
