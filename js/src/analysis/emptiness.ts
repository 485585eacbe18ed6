// Says why a table or a timeline is empty, and what would fill it: never a blank.

import { sameValue } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import { OPTIONS, type OptionDescription, type Options } from "../data/protocol.ts";
import { rowWeights } from "../engine/account.ts";
import { OWN_THRESHOLDS, THRESHOLD_OPTIONS } from "../engine/display.ts";
import { Names } from "../engine/matching.ts";
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

// Options by which rows are hidden that are accounted.
const HIDING = /^(min|start|trim|show|hide|device)/;

/** The options that are no filters: none of them alone takes a row away. tfprof_widget/profiles/options.py has them too. */
export const KEEP_ALL_ROWS: readonly (keyof Options)[] = [
  "step",
  "runNameRegexes",
  "workerRegexes",
  "acrossWorkers",
  "timing",
  "orderBy",
  "accountDisplayedOpOnly",
  "select",
  "output",
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
  const { options: names, hints } = blamed(view);
  const set = OPTIONS.filter(({ name }) => names.includes(name));
  if (!set.length)
    return { reason: "None of the nodes is part of this view. Look at another one.", remedies: [] };
  const remedies = filtersSet(view.options).map((option) => ({
    label: `reset ${option.name}`,
    changes: reset([option]),
  }));
  const all = { label: "reset all filters", changes: reset(filtersSet(view.options)) };
  const whole = Object.entries(hints).map(
    ([name, regex]) => ` ${name} has to match whole names, as ${regex} does.`,
  );
  return {
    reason: `${reasonOf(view, set)}${whole.join("")}`,
    remedies: remedies.length > 1 ? [...remedies, all] : remedies,
  };
}

/**
 * The options because of which a view is empty, and regexes that would match names of which given ones are parts. These
 * are the thresholds that nothing reaches; if there are none, all filters. tfprof_widget/output/text.py has the same rule.
 */
export function blamed(view: View): {
  readonly options: readonly string[];
  readonly hints: Readonly<Record<string, string>>;
} {
  const set = filtersSet(view.options);
  const { nodes } = view.profile;
  const names = view.forest.tree.names.slice(1);
  const known: Readonly<Record<string, readonly string[]>> = {
    account_type_regexes: nodes.typeNames,
    start_name_regexes: names,
    show_name_regexes: names,
    device_regexes: nodes.devices,
  };
  const unreached = MEASURES.flatMap((measure) => {
    const option = set.find(({ key }) => key === THRESHOLD_OPTIONS[measure]);
    const least = option ? (view.options[option.key] as number) : 0;
    return option && largestOf(view, measure) < least ? [option.name] : [];
  });
  const parts = set.flatMap(({ key, name }) => {
    const regex = name in known && wholeName(name, view.options[key] as string[], known[name] as string[]);
    return regex ? [[name, regex]] : [];
  });
  return {
    options: unreached.length ? unreached : set.map(({ name }) => name),
    hints: Object.fromEntries(parts),
  };
}

function filtersSet(options: Options): readonly OptionDescription[] {
  return OPTIONS.filter((option) => !KEEP_ALL_ROWS.includes(option.key) && isSet(option, options));
}

/** A regex that matches names of which these match parts only; empty if they match a name, or no part of any. */
function wholeName(option: string, regexes: readonly string[], known: readonly string[]): string {
  const names = new Names(known);
  if (names.matching(option, regexes).includes(1)) return "";
  const wider = regexes.map((each) => (/[|()]/.test(each) ? `.*(?:${each}).*` : `.*${each}.*`));
  return wider.find((each) => names.matching(option, [each]).includes(1)) ?? "";
}

/** What a view leaves out of a measure: what rows cost that options hide, and what nodes cost for which it has no row. */
export function leftOut(view: View, measure: Measure): readonly [hidden: number, placeless: number] {
  const inTree = view.sums.total(measure)[0] as number;
  const shown = view.own(measure).reduce((sum, each) => sum + each, 0);
  return [inTree - shown, view.all(measure) - inTree];
}

const RAN_ONE_BY_ONE = "most ran one by one: put them into a tf.function to see their lines";
const IMPORTED =
  "an imported graph has none: build it in this program, or give an op_log written where it is built";

/** Why a code view knows no line of most of the op time, and what to do; empty if it knows those of half of it. */
export function whyNoLine(view: View): string {
  const [, placeless] = leftOut(view, "micros");
  if (2 * placeless <= view.all("micros")) return "";
  const weights = rowWeights(view.profile, view.options);
  const micros = view.sums.measures.column("micros");
  const eager = view.profile.nodes.names.reduce(
    (sum, name, node) =>
      name.startsWith("eager/") ? sum + (micros[node] as number) * (weights[node] as number) : sum,
    0,
  );
  return ` (${2 * eager > placeless ? RAN_ONE_BY_ONE : IMPORTED})`;
}

/** The options that hide rows: those that are not at their defaults, and the depth where anything is as deep. */
export function hiding(view: View): readonly string[] {
  const { options, kind, forest } = view;
  const deepest =
    kind === "op" ? view.of - 1 : forest.tree.depth.reduce((most, depth) => Math.max(most, depth), 0);
  return OPTIONS.filter((option) =>
    option.key === "maxDepth"
      ? deepest >= options.maxDepth + (kind === "op" ? 1 : 0)
      : HIDING.test(option.key) && isSet(option, options),
  ).map(({ name }) => name);
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
  if (measure === "params") return "the graph has no variables, or the profile does not know them";
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
      reason: "No recorded execution has a start time.",
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
    reason: "No run was recorded: the profile has the graph, but no times.",
    remedy: "Run the model under %%tfprof or tfprof_widget.capture(), or give the RunMetadata of a run.",
  };
}
