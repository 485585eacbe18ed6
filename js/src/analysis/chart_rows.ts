// Rows of the charts beside a table: scopes, steps, and the costs of costs.ts, as tfprof_widget/charts/ names their fields.

import { SCOPE_TITLES, SIZES, STEPS_TITLE } from "../data/chart_words.ts";
import { withDefaults } from "../data/options.ts";
import { cacheOf, type Profile } from "../data/profile.ts";
import type { Metric } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import type { Measure } from "../engine/measures.ts";
import { ROOT_NAME } from "../engine/tree.ts";
import type { View } from "../engine/view.ts";
import { exact, share, short, shortBytes, shortCount, shortTime, visible } from "../lib/format.ts";
import type { ChartContent, ChartKind, ChartSubject } from "./chart_content.ts";
import { type CostRow, costRows, costsOf } from "./costs.ts";

/** The rows of each chart. */
export interface ChartRows {
  readonly costs: readonly CostRow[];
  /** What the costs come to, said shortly; empty where they do not add up. */
  readonly whole: string;
  readonly byProcessor: boolean;
  readonly scopes: readonly ScopeRow[];
  readonly steps: readonly StepRow[];
  /** What they are compared by: where nothing was run, the graph nodes are counted whatever was asked for. */
  readonly metric: Metric;
  readonly isStatic: boolean;
}

/** The charts of a view by a metric; `flags` marks the selected nodes, null where none is. */
export function chartRowsOf(view: View, asked: Metric, flags: Uint8Array | null): ChartRows {
  const isStatic = view.profile.steps.length === 0;
  const metric = isStatic ? "count" : asked;
  const costs = costRows(costsOf(view, flags), metric, flags !== null);
  return {
    costs,
    whole: wholeOf(costs, metric),
    byProcessor: costs.some(({ part }) => part === "accelerator"),
    scopes: scopeRows(scopeViewOf(view), metric, flags),
    steps: view.profile.steps.length > 1 ? stepRows(view.profile, view.options.step) : [],
    metric,
    isStatic,
  };
}

const SHORT: Readonly<Record<Metric, ((sum: number) => string) | undefined>> = {
  time: shortTime,
  memory: shortBytes,
  count: shortCount,
  rate: undefined,
};

function wholeOf(costs: readonly CostRow[], metric: Metric): string {
  const sum = costs.reduce((total, { value }) => total + value, 0);
  return (sum && SHORT[metric]?.(sum)) || "";
}

/** A rectangle, as tfprof_widget/charts/scopes.py names its fields; the root's row is `depth` 0. */
export interface ScopeRow {
  readonly name: string;
  readonly label: string;
  readonly x0: number;
  readonly x1: number;
  readonly depth: number;
  readonly category: number;
  readonly exact: string;
  readonly share: string;
  readonly opacity: number;
  /** What a click selects: the scope, nothing for the whole; undefined where several are merged. */
  readonly scope?: string | undefined;
}

/** Of a metric that does not add up, what is compared instead. */
const SCOPE_MEASURES: Readonly<Record<Metric, Measure>> = {
  time: "micros",
  memory: "bytes",
  count: "runs",
  rate: "float_ops",
};
/** The rows below a row: those that are drawn, and how many are too narrow and what they come to. */
interface Below {
  readonly children: number[];
  narrow: number;
  narrowTotal: number;
}
type Placed = Omit<ScopeRow, "exact" | "share" | "opacity">;

const LEVELS = 4;
// What is narrower is merged with its neighbours.
const NARROWEST = 0.01;
const UNSELECTED_OPACITY = 0.3;
const COLOURS = 5;
const DULL = 5;
const EMPTY: Below = { children: [], narrow: 0, narrowTotal: 0 };

/** The view whose totals the icicle shows: the scope view itself, else that of all that is accounted. */
export function scopeViewOf(view: View): View {
  if (view.kind === "scope") return view;
  const { step, runNameRegexes, timing, accountTypeRegexes } = view.options;
  const options = { step, runNameRegexes, timing, accountTypeRegexes, maxDepth: LEVELS };
  return cacheOf(view.profile).recent(`scopes ${JSON.stringify(options)}`, () =>
    evaluate(view.profile, "scope", withDefaults(options)),
  );
}

/** The rectangles of a scope view, the largest scopes first; what holds no flagged node fades. */
export function scopeRows(view: View, metric: Metric, flags: Uint8Array | null = null): ScopeRow[] {
  const measure = SCOPE_MEASURES[metric];
  const totals = view.total(measure);
  const whole = totals[0] ?? 0;
  if (!(whole > 0)) return [];
  const wide = wideScopes(view, totals, whole * NARROWEST);
  const rows: ScopeRow[] = [];
  const add = (value: number, isLit: boolean, row: Placed): void => {
    const told = { exact: exact(measure, value / view.unit(measure)), share: share(value, whole) };
    rows.push({ ...row, ...told, opacity: isLit ? 1 : UNSELECTED_OPACITY });
  };
  const divide = (above: number, start: number, depth: number): void => {
    const { children, narrow, narrowTotal } = wide.get(above) ?? EMPTY;
    let x0 = start;
    for (const child of children.toSorted((one, other) => valueAt(totals, other) - valueAt(totals, one))) {
      const value = valueAt(totals, child);
      const x1 = x0 + value / whole;
      const name = view.name(child);
      const label = name.slice(name.lastIndexOf("/") + 1);
      const isLit = !flags || holdsFlagged(view, child, flags);
      add(value, isLit, { name, label, x0, x1, depth, scope: name, category: colourOf(label) });
      divide(child, x0, depth + 1);
      x0 = x1;
    }
    const x1 = x0 + narrowTotal / whole;
    if (x1 - x0 < NARROWEST) return;
    add(narrowTotal, !flags, { name: `${narrow} smaller scopes`, label: "…", x0, x1, depth, category: DULL });
  };
  const label = `all · ${short(measure, whole / view.unit(measure))}`;
  add(whole, true, { name: ROOT_NAME, label, x0: 0, x1: 1, depth: 0, scope: "", category: DULL });
  divide(0, 0, 1);
  return rows;
}

/** The rows right below each row that are worth a rectangle, down to the deepest level, and the sum of the others. */
function wideScopes({ places, forest }: View, totals: Float64Array, least: number): Map<number, Below> {
  const { end } = forest.tree;
  const wide = new Map<number, Below>();
  const above: number[] = [0];
  let passed = 0;
  for (let row = 1; row < places.length; row++) {
    const place = places[row] as number;
    // A row is followed by what is below it: that is passed by where the row is narrow, or the deepest drawn.
    if (passed > 0 && holds(end, passed, place)) continue;
    while (above.length > 1 && !holds(end, places[above.at(-1) as number] as number, place)) above.pop();
    const parent = above.at(-1) as number;
    let below = wide.get(parent);
    if (!below) {
      below = { children: [], narrow: 0, narrowTotal: 0 };
      wide.set(parent, below);
    }
    const value = totals[row] as number;
    const isWide = value >= least;
    if (isWide) {
      below.children.push(row);
    } else {
      below.narrow += 1;
      below.narrowTotal += value;
    }
    if (isWide && above.length < LEVELS - 1) above.push(row);
    else passed = place;
  }
  return wide;
}

function holds(end: Int32Array, above: number, place: number): boolean {
  return above <= place && place < (end[above] as number);
}

function holdsFlagged(view: View, row: number, flags: Uint8Array): boolean {
  const { rows, rowStart, end } = view.forest.tree;
  const place = view.places[row] as number;
  const last = rowStart[end[place] as number] as number;
  for (let at = rowStart[place] as number; at < last; at++) if (flags[rows[at] as number]) return true;
  return false;
}

/** The same colour for the same name, wherever it stands. */
function colourOf(label: string): number {
  let hash = 7;
  for (let i = 0; i < label.length; i++) hash = (hash * 31 + label.charCodeAt(i)) % 65_521;
  return hash % COLOURS;
}

function valueAt(values: Float64Array, row: number): number {
  return values[row] as number;
}

/** A bar, as tfprof_widget/charts/steps.py names its fields: a step, or several neighbours of which it has the longest. */
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
const UNCHOSEN_OPACITY = 0.35;

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
      opacity:
        chosen < 0 || members.some((member) => profile.steps[member] === chosen) ? 1 : UNCHOSEN_OPACITY,
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

function scopesContent({ view, metric: asked }: ChartSubject): ChartContent {
  const metric = view.profile.steps.length ? asked : "count";
  const rows = scopeRows(scopeViewOf(view), metric);
  if (!rows.length) throw new Error("no scope has a cost");
  return {
    spec: "scopes",
    data: {
      scopes: rows.map(({ scope: _, name, label, ...row }) => ({
        ...row,
        name: visible(name),
        label: visible(label),
      })),
    },
    height: SIZES.levelHeight * (1 + Math.max(...rows.map(({ depth }) => depth))),
    title: SCOPE_TITLES[metric],
    of: "mean",
  };
}

/** The chart of scopes. */
export const SCOPES: ChartKind = { name: "scopes", content: scopesContent };

function stepsContent({ view: { profile, options } }: ChartSubject): ChartContent {
  if (profile.steps.length < 2) throw new Error("there are no two steps to compare");
  const rows = stepRows(profile, options.step);
  const isOfSeveral = new Set(rows.map(({ kind }) => kind)).size > 1;
  return {
    spec: isOfSeveral ? "steps_by_kind" : "steps",
    data: {
      steps: rows.map(({ step, kind, ...row }) => ({ ...row, step: visible(step), kind: visible(kind) })),
    },
    height: SIZES.stepsHeight,
    title: STEPS_TITLE,
    of: "each",
  };
}

/** The chart of steps. */
export const STEPS: ChartKind = { name: "steps", content: stepsContent };
