// Schedules the work of a step on its workers as TensorFlow's executor does; scheduler.py has the same rules.

import type { Numbers } from "../engine/columns.ts";

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
  /** The wall time of the step. */
  readonly nanos: number;
  /** Whether one worker runs the rows one after the other. */
  readonly isChain: boolean;
  /** What gaps and busy times would be alone, by slowdown, where no row is gone. */
  readonly alone: Map<number, Alone>;
}

type Alone = readonly [gap: Numbers, busy: Numbers];

/** When rows end, which row each one followed, and how long the step takes. */
export interface Schedule {
  readonly end: Numbers;
  readonly followed: Int32Array;
  readonly nanos: number;
}

/** Up to this, a gap before a row is what the runtime takes to start it: it goes with a row that is gone. */
const GONE_NANOS = 20_000;

/** The schedule of the work if each node took its factor of the time; gaps stay as they were. */
export function scheduled(work: StepWork, factors: Numbers | null, slowdown: number): Schedule {
  const count = work.node.length;
  const factor = new Float64Array(count).fill(1);
  let gone = 0;
  if (factors) {
    for (let row = 0; row < count; row++) {
      factor[row] = factors[Math.max(work.node[row] as number, 0)] as number;
      if (!factor[row]) gone++;
    }
  }
  const gap = gone
    ? work.gap.map((each, row) => (factor[row] ? each : Math.max(each - GONE_NANOS, 0)))
    : work.gap;
  const [end, followed] = [new Float64Array(count), new Int32Array(count).fill(-1)];
  if (work.isChain) {
    for (let row = 0, now = 0; row < count; row++) {
      now += (gap[row] as number) + (work.busy[row] as number) * (factor[row] as number);
      end[row] = now;
      followed[row] = row - 1;
    }
  } else {
    const effective = Math.max(...work.workers) > 1 ? slowdown : 0;
    const alone = effective ? aloneIn(work, gap, effective) : ([gap, work.busy] as const);
    simulate(work, alone, factor, effective, end, followed);
  }
  const kept = count ? 1 - gone / count : 1;
  return { end, followed, nanos: work.before + end.reduce(larger, 0) + work.after * kept };
}

function larger(one: number, other: number): number {
  return one > other ? one : other;
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
  const times = new Float64Array(new Set([...begins, ...ends])).sort();
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
    let [low, high] = [0, times.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((times[middle] as number) <= time) low = middle;
      else high = middle - 1;
    }
    const [from, base] = [times[low] as number, done[low] as number];
    if (time <= from || low === times.length - 1) return base;
    const slope = ((done[low + 1] as number) - base) / ((times[low + 1] as number) - from);
    return slope * (time - from) + base;
  };
  const lasting = (from: Numbers, to: Numbers, else_: Numbers): Numbers =>
    else_.map((each, row) =>
      (busy[row] as number) > 0 ? doneAt(to[row] as number) - doneAt(from[row] as number) : each,
    );
  const found: Alone = [lasting(begin, start, gap), lasting(start, end, busy)];
  if (gap === work.gap) work.alone.set(slowdown, found);
  return found;
}

/** Rows by a number, the smallest first; of equal numbers the first row. */
class Heap {
  readonly #keys: Float64Array;
  readonly #rows: Int32Array;
  size = 0;

  constructor(capacity: number) {
    this.#keys = new Float64Array(capacity);
    this.#rows = new Int32Array(capacity);
  }

  get least(): number {
    return this.#keys[0] as number;
  }

  push(key: number, row: number): void {
    const [keys, rows] = [this.#keys, this.#rows];
    let at = this.size++;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = keys[above] as number;
      if (other < key || (other === key && (rows[above] as number) < row)) break;
      keys[at] = other;
      rows[at] = rows[above] as number;
      at = above;
    }
    keys[at] = key;
    rows[at] = row;
  }

  pop(): number {
    const [keys, rows] = [this.#keys, this.#rows];
    const found = rows[0] as number;
    const size = --this.size;
    const [key, row] = [keys[size] as number, rows[size] as number];
    const isBefore = (one: number, oneRow: number, other: number, otherRow: number): boolean =>
      one < other || (one === other && oneRow < otherRow);
    let at = 0;
    for (let below = 1; below < size; below = 2 * at + 1) {
      const right = below + 1;
      const isRight =
        right < size &&
        isBefore(keys[right] as number, rows[right] as number, keys[below] as number, rows[below] as number);
      if (isRight) below = right;
      if (!isBefore(keys[below] as number, rows[below] as number, key, row)) break;
      keys[at] = keys[below] as number;
      rows[at] = rows[below] as number;
      at = below;
    }
    keys[at] = key;
    rows[at] = row;
    return found;
  }
}

/**
 * Simulate the workers, event by event; `end` and `followed` are written.
 *
 * A worker runs what is in its own line first. When it ends a row, inline rows that may now begin join its line. The
 * last of the others does so if the line is empty, and the rest waits in the queue for any worker.
 */
function simulate(
  work: StepWork,
  [gap, busy]: Alone,
  factor: Numbers,
  slowdown: number,
  end: Numbers,
  followed: Int32Array,
): void {
  const { release, queue, isInline, first, followers } = work;
  const count = end.length;
  const missing = work.waits.slice();
  const idle = work.workers.slice();
  const waiting = Array.from(idle, (_, of) => new Heap(queue.reduce((sum, each) => sum + +(each === of), 0)));
  const [running, released] = [new Heap(count), new Heap(count)];
  // The line of a worker belongs to the row that it runs: its first and last row, and of each row the next one.
  const [head, tail, next] = [new Int32Array(count).fill(-1), new Int32Array(count), new Int32Array(count)];
  let [now, done] = [0, 0];
  const begin = (row: number): void =>
    running.push(done + ((gap[row] as number) + (busy[row] as number) * (factor[row] as number)), row);
  const give = (row: number, cause: number): void => {
    const of = queue[row] as number;
    if (idle[of]) {
      idle[of] = (idle[of] as number) - 1;
      followed[row] = cause;
      begin(row);
    } else waiting[of]?.push(row, row);
  };
  /** Whether nothing is missing any more. */
  const isReady = (row: number): boolean => {
    missing[row] = (missing[row] as number) - 1;
    return missing[row] === 0;
  };
  for (let row = 0; row < count; row++) if (!missing[row]) give(row, -1);
  while (running.size || released.size) {
    const slower = running.size ? 1 + slowdown * (running.size - 1) : 1;
    const nextEnd = running.size ? now + (running.least - done) * slower : 0;
    if (released.size && (!running.size || released.least < nextEnd)) {
      const moment = released.least;
      const row = released.pop();
      done += (moment - now) / slower;
      now = end[row] = moment;
      for (let at = first[row] as number; at < (first[row + 1] as number); at++) {
        const each = followers[at] as number;
        if (isReady(each)) give(each, row);
      }
      continue;
    }
    done = running.least;
    const row = running.pop();
    now = end[row] = nextEnd;
    const of = queue[row] as number;
    let [from, last] = [head[row] as number, tail[row] as number];
    const append = (each: number): void => {
      if (from < 0) from = each;
      else next[last] = each;
      last = each;
    };
    if (release[row] !== work.busy[row]) {
      // What a row releases later than it leaves its worker goes by the clock: nothing slows it.
      const lag = ((release[row] as number) - (work.busy[row] as number)) * (factor[row] as number);
      released.push(now + lag, row);
    } else {
      let kept = -1;
      for (let at = first[row] as number; at < (first[row + 1] as number); at++) {
        const each = followers[at] as number;
        if (!isReady(each)) continue;
        if (queue[each] !== of) give(each, row);
        else if (isInline[each]) append(each);
        else {
          if (kept >= 0) give(kept, row);
          kept = each;
        }
      }
      if (kept >= 0) {
        if (from >= 0) give(kept, row);
        else append(kept);
      }
    }
    let following = from;
    if (following >= 0) from = following === last ? -1 : (next[following] as number);
    else if (waiting[of]?.size) following = (waiting[of] as Heap).pop();
    else {
      idle[of] = (idle[of] as number) + 1;
      continue;
    }
    followed[following] = row;
    head[following] = from;
    tail[following] = last;
    begin(following);
  }
}

/** The nodes of the critical path, each the one that the next followed. */
export function pathOf({ node }: StepWork, { end, followed }: Schedule): readonly number[] {
  const found: number[] = [];
  for (let row = end.indexOf(end.reduce(larger, 0)); row >= 0; row = followed[row] as number) {
    found.push(node[row] as number);
  }
  return found.reverse();
}
