// What the widget wants of the kernel where a graph is cut: rows, steps and names that are not whole in the browser.

import type { Cut } from "../data/graphs.ts";
import type { Profile } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";

/** What is to be whole, as tfprof_widget/widget/cut_plan.py takes it. */
export interface Wanted {
  readonly step?: number;
  readonly scope?: string;
  readonly op?: string;
  readonly show_name_regexes?: readonly string[];
  readonly start_name_regexes?: readonly string[];
}

/** A row that stands for several nodes: those of an op type under a scope. */
export interface MergedRow {
  readonly count: string;
  readonly scope: string;
  readonly op: string;
}

// As tfprof_widget/widget/cut_tables.py writes them.
const NAME = /^(?:(.*)\/)?\(([\d,]+) more [^/]*\)$/s;
const EVERYTHING = JSON.stringify([".*"]);

/** The row of this name, null where it is a node's own. */
export function mergedRow({ nodes }: Profile, name: string): MergedRow | null {
  const [, scope = "", count = ""] = NAME.exec(name) ?? [];
  const node = count ? nodes.names.indexOf(name) : -1;
  return node < 0 ? null : { count, scope, op: nodes.ops[nodes.op[node] as number] as string };
}

/** What the options want whole that may not be: a step's executions, and nodes whose names match. */
export function wantedBy({ step, showNameRegexes, startNameRegexes }: Options, cut: Cut): Wanted {
  const show = JSON.stringify(showNameRegexes) === EVERYTHING ? undefined : showNameRegexes;
  const start = JSON.stringify(startNameRegexes) === EVERYTHING ? undefined : startNameRegexes;
  return {
    ...(step >= 0 && !cut.steps.includes(step) && { step }),
    ...(cut.rows > 0 && show?.length && { show_name_regexes: show }),
    ...(cut.rows > 0 && start?.length && { start_name_regexes: start }),
  };
}

/** Whether nothing is wanted. */
export function isNothing(wanted: Wanted): boolean {
  return Object.keys(wanted).length === 0;
}
