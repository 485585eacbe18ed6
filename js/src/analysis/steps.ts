// How long each step took: from the first start to the last end, and the op time within.

import type { Profile } from "../data/profile.ts";
import { shortTime } from "../lib/format.ts";

/** A bar, as tfprof_widget/widget/charts.py names its fields: a step, or several neighbours of which it has the longest. */
export interface StepRow {
  readonly step: string;
  /** What a click chooses. */
  readonly number: number;
  readonly kind: string;
  readonly seconds: number;
  readonly span: string;
  readonly work: string;
  readonly opacity: number;
}

// As many as can be told apart in a panel.
const MOST_BARS = 120;
// With the others they are the colours that are there.
const MOST_KINDS = 5;
const FADED = 0.35;

/** The bars of all steps; if one is chosen, the others fade. */
export function stepRows(profile: Profile, chosen: number): StepRow[] {
  const { spans, work } = stepTimes(profile);
  const kinds = kindsOf(profile);
  const bin = Math.ceil(profile.steps.length / MOST_BARS);
  const rows: StepRow[] = [];
  for (let start = 0; start < profile.steps.length; start += bin) {
    const members = profile.steps.slice(start, start + bin).map((_, place) => start + place);
    const longest = members.reduce((one, other) =>
      (spans[other] as number) > (spans[one] as number) ? other : one,
    );
    const number = profile.steps[longest] as number;
    const [first, last] = [profile.steps[start], profile.steps[members.at(-1) as number]];
    const worker = profile.stepWorkers[longest];
    rows.push({
      step:
        members.length > 1
          ? `${first}–${last}`
          : [number, worker].filter((each) => each !== undefined).join(" "),
      number,
      kind: kinds[longest] as string,
      seconds: (spans[longest] as number) / 1e9,
      span:
        shortTime((spans[longest] as number) / 1e3) +
        (members.length > 1 ? ` (step ${number}, the longest)` : ""),
      work: shortTime((work[longest] as number) / 1e3),
      opacity: chosen < 0 || members.some((member) => profile.steps[member] === chosen) ? 1 : FADED,
    });
  }
  return rows;
}

/** Nanoseconds by step: from first start to last end, or the op time where no starts are known; and the op time. */
export function stepTimes(profile: Profile): { spans: Float64Array; work: Float64Array } {
  const { step, startNanos, durationNanos } = profile.executions;
  const spans = new Float64Array(profile.steps.length);
  const work = new Float64Array(profile.steps.length);
  for (let row = 0; row < step.length; row++) {
    const [index, start] = [step[row] as number, startNanos[row] as number];
    // Executions without a start say only that the node was seen.
    if (start < 0) continue;
    spans[index] = Math.max(spans[index] as number, start + (durationNanos[row] as number));
  }
  const totals = profile.stepTotals;
  for (let row = 0; row < totals.step.length; row++) {
    const index = totals.step[row] as number;
    const spent = (totals.cpuNanos[row] as number) + (totals.acceleratorNanos[row] as number);
    work[index] = (work[index] as number) + spent;
  }
  return { spans: spans.map((span, index) => span || (work[index] as number)), work };
}

/** Who ran each step, or where there is one process what ran in it; of many names the rarer ones are one. */
export function kindsOf({ stepNames: runs, stepWorkers }: Profile): readonly string[] {
  const stepNames = stepWorkers.length ? stepWorkers : runs;
  const counts = new Map<string, number>();
  for (const name of stepNames) counts.set(name, (counts.get(name) ?? 0) + 1);
  const common = [...counts.keys()].sort((one, other) => (counts.get(other) ?? 0) - (counts.get(one) ?? 0));
  const kept = new Set(common.length > MOST_KINDS + 1 ? common.slice(0, MOST_KINDS) : common);
  return stepNames.map((name) => (kept.has(name) ? name || "unnamed" : "other runs"));
}
