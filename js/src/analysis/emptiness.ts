// Says why a table or a timeline is empty, and what would fill it: never a blank.

import { sameValue } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import { OPTIONS, type OptionDescription, type Options } from "../data/protocol.ts";
import { OWN_THRESHOLDS, THRESHOLD_OPTIONS } from "../engine/display.ts";
import { MEASURES, type Measure } from "../engine/measures.ts";
import type { View } from "../engine/view.ts";
import { short } from "../lib/format.ts";
import type { Layout } from "./timeline_layout.ts";

/** What a button offers: the options it resets. */
interface Remedy {
  readonly label: string;
  readonly changes: Partial<Options>;
}

/** A reason, and ways out. */
export interface EmptyTableReason {
  readonly reason: string;
  readonly remedies: readonly Remedy[];
}

/** The options that are no filters: none of them alone takes a row away. tfprof_widget/profiles/options.py has them too. */
export const KEEP_ALL_ROWS: readonly (keyof Options)[] = [
  "step",
  "runNameRegexes",
  "workerRegexes",
  "acrossWorkers",
  "orderBy",
  "accountDisplayedOpOnly",
  "select",
  "output",
  "timing",
];

/** Why a view has no rows but the root's, null if it has some. */
export function whyTableIsEmpty(view: View): EmptyTableReason | null {
  if (view.kept > 0) return null;
  if (!view.profile.nodes.op.length) {
    return {
      reason: "The profile has no nodes: nothing ran while it was recorded, or it was given no graph.",
      remedies: [],
    };
  }
  const set = OPTIONS.filter((option) => !KEEP_ALL_ROWS.includes(option.key) && isSet(option, view.options));
  if (!set.length)
    return { reason: "None of the nodes is part of this view. Look at another one.", remedies: [] };
  const remedies = set.map((option) => ({ label: `reset ${option.name}`, changes: reset([option]) }));
  const all = { label: "reset all filters", changes: reset(set) };
  return { reason: reasonOf(view, set), remedies: set.length > 1 ? [...remedies, all] : remedies };
}

/** What undoes an option that gives no result. */
export function remedyFor(name: string): Remedy | null {
  const option = OPTIONS.find((each) => each.name === name);
  return option ? { label: `reset ${name}`, changes: reset([option]) } : null;
}

function isSet({ key, default: usual }: OptionDescription, options: Options): boolean {
  return !sameValue(options[key], usual);
}

function reset(options: readonly OptionDescription[]): Partial<Options> {
  return Object.fromEntries(options.map(({ key, default: usual }) => [key, usual]));
}

function reasonOf(view: View, set: readonly OptionDescription[]): string {
  for (const option of set) {
    const measure = MEASURES.find((each) => THRESHOLD_OPTIONS[each] === option.key);
    const reason = measure && outOfReach(view, measure, option);
    if (reason) return reason;
  }
  const values = set.map(({ key, name }) => `${name} = ${spelled(view.options[key])}`);
  return `No row passes ${values.join(" and ")}${values.length > 1 ? " together" : ""}.`;
}

/** Says how far off a threshold is that nothing reaches, empty if something does. */
function outOfReach(view: View, measure: Measure, { key, name }: OptionDescription): string {
  const least = view.options[key] as number;
  const largest = largestOf(view, measure);
  if (largest >= least) return "";
  const asked = `No row reaches ${name} = ${short(measure, least)}`;
  if (largest > 0) return `${asked}: the largest has ${short(measure, largest)}.`;
  return `${asked}: ${whyNone(view.profile, measure)}.`;
}

/** The most that a row has of what its threshold is compared with; in op view that counts all rows after it. */
function largestOf(view: View, measure: Measure): number {
  const { kind, sums } = view;
  const isOfNodes = (kind === "scope" || kind === "graph") && OWN_THRESHOLDS.includes(measure);
  const values = isOfNodes ? sums.own(measure) : sums.total(measure);
  const largest =
    kind === "op" ? values[0] : values.subarray(1).reduce((most, value) => Math.max(most, value), 0);
  return (largest as number) / view.unit(measure);
}

function whyNone({ steps }: Profile, measure: Measure): string {
  if (measure === "params") return "the graph has no variables, or the profile was not told of them";
  if (measure === "float_ops") return "no node has a FLOP formula and known shapes";
  return steps.length
    ? "the runs recorded none"
    : "no run was traced, so nothing has a time, a size or a count";
}

function spelled(value: unknown): string {
  return Array.isArray(value) ? value.join(", ") || "nothing" : String(value);
}

/** A reason and a remedy. */
interface EmptyTimelineReason {
  readonly reason: string;
  readonly remedy: string;
}

/** Why a layout has no slices. */
export function whyTimelineIsEmpty({ executions, steps }: Profile, { untimed }: Layout): EmptyTimelineReason {
  if (untimed) {
    return {
      reason: "None of the executions recorded has a start time.",
      remedy:
        "Trace the run with RunOptions(trace_level=RunOptions.FULL_TRACE), or run the cell under %%tfprof.",
    };
  }
  if (executions.node.length) {
    return {
      reason: "Nothing was recorded in the steps that are chosen.",
      remedy: `Choose another step above: the profile has ${steps.length.toLocaleString("en")}.`,
    };
  }
  return {
    reason: "No run was recorded: the profile knows the graph, but not when its ops ran.",
    remedy: "Run the model under %%tfprof or tfprof_widget.capture(), or give the RunMetadata of a run.",
  };
}
