// Everything that the charts beside a table show, computed from what the table shows.

import type { Metric } from "../data/protocol.ts";
import type { View } from "../engine/view.ts";
import { shortBytes, shortCount, shortTime } from "../lib/format.ts";
import { nodesBehind } from "../state/selection.ts";
import { type CostRow, costRows } from "./cost_rows.ts";
import { costsOf } from "./costs.ts";
import { type ScopeRow, scopeRows, scopeViewOf } from "./scopes.ts";
import { type StepRow, stepRows } from "./steps.ts";

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

/** The charts of a view by a metric, with what is selected lit. */
export function chartRowsOf(view: View, asked: Metric, selection: readonly string[]): ChartRows {
  const isStatic = view.profile.steps.length === 0;
  const metric = isStatic ? "count" : asked;
  const flags = nodesBehind(view.profile, selection);
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
