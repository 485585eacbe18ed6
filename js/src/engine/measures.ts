// What each graph node cost in the chosen step and clock: one exact column of whole numbers a measure.

import { ProfileError } from "../data/options.ts";
import { cacheOf, type Profile, type StepTotals } from "../data/profile.ts";
import { type Options, PASSES, type Pass } from "../data/protocol.ts";
import { countedUp, type Indices, type Numbers } from "./columns.ts";
import { byWorker, chosenSteps } from "./steps.ts";

const TIMES = ["micros", "accelerator_micros", "cpu_micros"] as const;
export const BYTES = ["bytes", "peak_bytes", "residual_bytes", "output_bytes"] as const;
export const MEASURES = [...TIMES, ...BYTES, "runs", "float_ops", "params"] as const;
export type Measure = (typeof MEASURES)[number];
/** A measure of all views, or of the layers view alone. */
export type Summed = Measure | Pass;

// Divisible by 1 to 10, so that the usual means have no rest.
const LARGEST_DIVISOR = 5040;
const NANOS_A_MICRO = 1000;
const LIMIT = 2 ** 53;

/** Whether this is one of MEASURES. */
export function isMeasure(name: string): name is Measure {
  return (MEASURES as readonly string[]).includes(name);
}

/** Whether this is the time of a pass, which the layers view alone tells. */
export function isPass(name: string): name is Pass {
  return (PASSES as readonly string[]).includes(name);
}

/** Whether the measure is a time. */
function isTime(measure: Measure): boolean {
  return (TIMES as readonly string[]).includes(measure);
}

/** A column a measure over the graph nodes, in units of `1 / unit` microseconds, bytes, runs, ... */
export class Measures {
  constructor(
    readonly columns: Readonly<Record<Measure, Numbers> & Partial<Record<Pass, Numbers>>>,
    readonly units: Readonly<Record<Measure, number>>,
  ) {}

  column(measure: Summed): Numbers {
    const found = this.columns[measure];
    if (!found) throw new Error(`${measure} is told by the layers view alone`);
    return found;
  }

  /** How many of the column's units make one microsecond, byte, run, ... */
  unit(measure: Summed): number {
    return this.units[isPass(measure) ? "micros" : measure];
  }
}

/** The measures of each node, kept with the profile for the next view of the same step and clock. */
export function measures(profile: Profile, options: Options): Measures {
  const steps = chosenSteps(profile, options);
  const isExact = options.timing === "exact";
  const across = options.acrossWorkers;
  return cacheOf(profile).recent(`measures ${steps.join()} ${isExact} ${across}`, () => {
    const workers = across === "mean" ? [steps] : byWorker(profile, steps);
    return across === "slowest" && workers.length > 1
      ? slowest(workers.map((each) => addedUp(profile, [each], isExact)))
      : addedUp(profile, workers, isExact);
  });
}

/** The measures of the worker that takes longest; of several the first. */
function slowest(workers: readonly Measures[]): Measures {
  return workers.reduce((most, each) => (wholeTime(each) > wholeTime(most) ? each : most));
}

function wholeTime(measures: Measures): number {
  return absoluteSum(measures.column("micros")) / measures.unit("micros");
}

/** The rows of the totals of some steps, and by what each node's sum over them is divided. */
interface Part {
  readonly rows: Indices;
  readonly divisor: Indices;
}

/** The sum over groups of steps of each one's mean. */
function addedUp(profile: Profile, groups: readonly (readonly number[])[], isExact: boolean): Measures {
  const totals = profile.stepTotals;
  const parts = (groups.length > 0 ? groups : [[]]).map((steps) => {
    const rows = rowsOf(totals, steps);
    return { rows, divisor: divisorOf(profile, steps, rows, isExact) } as Part;
  });
  const scale = isExact ? commonDivisor(parts.flatMap(({ divisor }) => [...new Set(divisor)])) : 1;
  const columns = {} as Record<Measure, Numbers>;
  const units = {} as Record<Measure, number>;
  for (const [measure, values] of recorded(totals, isExact)) {
    const size = parts.reduce((sum, { rows }) => sum + absoluteSum(values, rows), 0);
    checkSize(measure, size);
    // A mean that is too large for the scale is rounded to whole units.
    const fitting = size * scale < LIMIT ? scale : 1;
    columns[measure] = parts
      .map(({ rows, divisor }) =>
        mean(summed(totals, values, rows, profile.nodes.op.length), divisor, fitting, isExact),
      )
      .reduce((sum, each) => sum.map((value, node) => value + (each[node] as number)));
    units[measure] = isExact && isTime(measure) ? fitting * NANOS_A_MICRO : fitting;
  }
  const [floatOps, unit] = floatOpsOf(profile, parts, columns.runs, scale, isExact);
  const { parameters } = profile.nodes;
  checkSize("params", absoluteSum(parameters));
  return new Measures(
    { ...columns, float_ops: floatOps, params: parameters },
    { ...units, float_ops: unit, params: 1 },
  );
}

function summed(totals: StepTotals, values: Numbers, rows: Indices, count: number): Numbers {
  const sums = new Float64Array(count);
  for (const row of rows) increase(sums, totals.node[row] as number, values[row] as number);
  return sums;
}

/** The rows of the totals of some steps. */
function rowsOf(totals: StepTotals, steps: readonly number[]): Indices {
  const chosen = new Set(steps);
  return countedUp(totals.step.length).filter((row) => chosen.has(totals.step[row] as number));
}

function recorded(totals: StepTotals, isExact: boolean): [Measure, Numbers][] {
  const accelerator = isExact ? totals.acceleratorNanos : totals.acceleratorMicros;
  const cpu = isExact ? totals.cpuNanos : totals.cpuMicros;
  return [
    ["micros", accelerator.map((value, row) => value + (cpu[row] as number))],
    ["accelerator_micros", accelerator],
    ["cpu_micros", cpu],
    ["bytes", totals.requestedBytes],
    ["peak_bytes", totals.peakBytes],
    ["residual_bytes", totals.residualBytes],
    ["output_bytes", totals.outputBytes],
    ["runs", totals.runCount],
  ];
}

/** By how many steps each node's sums are divided: those of the kinds that it ran in; natively each step is a kind. */
function divisorOf(profile: Profile, steps: readonly number[], rows: Indices, isExact: boolean): Indices {
  const { stepNames, stepTotals, nodes } = profile;
  const kinds = stepNames.map((name, step) => (isExact ? stepNames.indexOf(name) : step));
  const count = new Int32Array(kinds.length);
  const last: number[] = [];
  const found = new Int32Array(nodes.op.length);
  for (const step of steps) increase(count, kinds[step] as number, 1);
  for (const row of rows) {
    const [node, kind] = [stepTotals.node[row] as number, kinds[stepTotals.step[row] as number] as number];
    if (last[kind] !== node) increase(found, node, count[kind] as number);
    last[kind] = node;
  }
  return found;
}

/** The common denominator of the means, bounded so that scaled sums stay exact. */
function commonDivisor(numbers: readonly number[]): number {
  let divisor = 1;
  for (const number of numbers) {
    if (number > 0) divisor = (divisor / greatestCommonDivisor(divisor, number)) * number;
    if (divisor > LARGEST_DIVISOR) return LARGEST_DIVISOR;
  }
  return divisor;
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other);
}

/** Each sum by its number of steps, times the scale; native cuts off the rest, and the exact mean is rounded. */
function mean(sums: Numbers, divisor: Indices, scale: number, isRounded: boolean): Numbers {
  return sums.map((sum, node) => {
    const steps = Math.max(divisor[node] as number, 1);
    const scaled = Math.abs(sum) * scale;
    const rest = scaled % steps;
    const whole = (scaled - rest) / steps;
    return Math.sign(sum) * (isRounded && 2 * rest >= steps ? whole + 1 : whole);
  });
}

/** What nodes took in the mean; by native's clock what one execution takes times the mean runs. Once where none was seen. */
function floatOpsOf(
  profile: Profile,
  parts: readonly Part[],
  runs: Numbers,
  unit: number,
  isExact: boolean,
): [values: Numbers, unit: number] {
  const totals = profile.stepTotals;
  const ofOne = profile.nodes[isExact ? "floatOps" : "nativeFloatOps"];
  const hasRun = new Uint8Array(runs.length);
  for (const node of totals.node) hasRun[node] = 1;
  const values = ofOne.map(
    (each, node) => each * (hasRun[node] ? (isExact ? 0 : (runs[node] as number)) : unit),
  );
  for (const { rows, divisor } of isExact ? parts : []) {
    // A sum over all steps may be beyond 2**53 though their mean is not.
    const rest = new Float64Array(runs.length);
    for (const row of rows) {
      const node = totals.node[row] as number;
      const took = totals.floatOps?.[row] ?? (ofOne[node] as number);
      const times = totals.floatOps ? 1 : (totals.runCount[row] as number);
      checkSize("float_ops", Math.abs(took));
      const over = took % (divisor[node] as number);
      increase(rest, node, over * times);
      increase(values, node, ((took - over) / (divisor[node] as number)) * times * unit);
    }
    mean(rest, divisor, unit, true).forEach((each, node) => {
      increase(values, node, each);
    });
  }
  const size = absoluteSum(values);
  if (unit === 1) checkSize("float_ops", size);
  return size < LIMIT ? [values, unit] : floatOpsOf(profile, parts, runs, 1, isExact);
}

function increase(column: Numbers | Indices, index: number, value: number): void {
  (column[index] as number) += value;
}

function absoluteSum(values: Numbers, rows: Indices = countedUp(values.length)): number {
  let sum = 0;
  for (const row of rows) sum += Math.abs(values[row] as number);
  return sum;
}

/** Refuse values whose sum is no longer exact. */
export function checkSize(measure: Summed, size: number): void {
  if (size < LIMIT) return;
  throw new ProfileError(
    `${measure}: the values add up to 2**53 or more, which the browser cannot count exactly; ask Python for this view`,
  );
}
