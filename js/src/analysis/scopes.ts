// The layout of the icicle: the scopes of a view as rectangles, each as wide as its share of the whole.

import { cacheOf } from "../data/memory.ts";
import { withDefaults } from "../data/options.ts";
import type { Metric } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import type { Measure } from "../engine/measures.ts";
import { ROOT_NAME } from "../engine/tree.ts";
import type { View } from "../engine/view.ts";
import { exact, share, short } from "../lib/format.ts";

/** A rectangle, as tfprof_widget/widget/charts.py names its fields; the root's row is `depth` 0. */
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
export const SCOPE_MEASURES: Readonly<Record<Metric, Measure>> = {
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
const FADED = 0.3;
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
    rows.push({ ...row, ...told, opacity: isLit ? 1 : FADED });
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
