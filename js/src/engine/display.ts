// Which places of a tree are shown: the answer to the name regexes, the thresholds and the depth.

import type { Options } from "../data/protocol.ts";
import { type Flags, gatheredFlags, type Indices } from "./columns.ts";
import { isEverything, type Names } from "./matching.ts";
import { MEASURES, type Measure, type Measures } from "./measures.ts";
import type { Sums } from "./sums.ts";
import type { Tree } from "./tree.ts";

/** What scope and graph view ask of the place itself. */
export const OWN_THRESHOLDS: readonly Measure[] = ["params", "float_ops", "runs"];

/** The option that asks for at least so much of a measure. */
export const THRESHOLD_OPTIONS = {
  micros: "minMicros",
  accelerator_micros: "minAcceleratorMicros",
  cpu_micros: "minCpuMicros",
  bytes: "minBytes",
  peak_bytes: "minPeakBytes",
  residual_bytes: "minResidualBytes",
  output_bytes: "minOutputBytes",
  runs: "minOccurrence",
  float_ops: "minFloatOps",
  params: "minParams",
} as const satisfies Record<Measure, keyof Options>;

/**
 * What decides about showing: the names, the sums, and the peculiarities of the view. `ownThresholds`: scope and
 * graph view compare parameters, float operations and runs of the place itself, code view those of its subtree
 * (and no runs). `cutsItself`: in code view a place that is trimmed goes with its subtree, in the others only
 * what is below it.
 */
export interface Display {
  readonly names: Names;
  readonly sums: Sums;
  readonly devices: Flags | undefined;
  readonly ownThresholds: boolean;
  readonly cutsItself: boolean;
}

/** Whether each place is shown; the root always is. */
export function visiblePlaces(display: Display, options: Options): Flags {
  const { tree } = display.sums.forest;
  const visible = new Uint8Array(tree.size).fill(1);
  let depth = tree.depth;
  if (!isEverything(options.startNameRegexes)) {
    const start = matching(display, "start_name_regexes", options.startNameRegexes);
    depth = startedDepth(tree, start);
    for (let place = 0; place < visible.length; place++) visible[place] = depth[place] ? 1 : 0;
  }
  if (options.trimNameRegexes.length > 0) {
    const trimmed = matching(display, "trim_name_regexes", options.trimNameRegexes);
    trim(tree, visible, trimmed, display.cutsItself);
  }
  for (let place = 0; place < visible.length; place++) {
    if ((depth[place] as number) >= options.maxDepth) visible[place] = 0;
  }
  for (const each of masks(display, options)) restrict(visible, each);
  for (const [measure, least] of thresholds(options, display.sums.measures)) {
    const isOwn = display.ownThresholds && OWN_THRESHOLDS.includes(measure);
    if (measure === "runs" && !isOwn) continue;
    const values = isOwn ? display.sums.own(measure) : display.sums.total(measure);
    for (let place = 0; place < visible.length; place++) {
      if ((values[place] as number) < least) visible[place] = 0;
    }
  }
  visible[0] = 1;
  return visible;
}

/** Whether each place's name, and the device of a row of it, may be shown; nothing of what every place does. */
export function masks(display: Display, options: Options): Flags[] {
  const found: Flags[] = [];
  if (!isEverything(options.showNameRegexes)) {
    found.push(matching(display, "show_name_regexes", options.showNameRegexes));
  }
  if (options.hideNameRegexes.length > 0) {
    const hidden = matching(display, "hide_name_regexes", options.hideNameRegexes);
    found.push(hidden.map((each) => 1 - each));
  }
  if (display.devices) found.push(display.devices);
  return found;
}

/** Whether each place's name matches one of the regexes of an option. */
export function matching(display: Display, option: string, regexes: readonly string[]): Flags {
  const { origin } = display.sums.forest.tree;
  const found = display.names.matching(option, regexes);
  return origin ? gatheredFlags(found, origin) : found;
}

/** The measures of which at least something is asked, and how much in the units of their columns. */
export function thresholds(options: Options, measures: Measures): [measure: Measure, least: number][] {
  return MEASURES.map((measure): [Measure, number] => [
    measure,
    options[THRESHOLD_OPTIONS[measure]] * measures.unit(measure),
  ]).filter(([, least]) => least > 0);
}

/** Depths counted from the topmost places that are marked, 0 for what is not at or below one of these. */
function startedDepth(tree: Tree, start: Flags): Indices {
  const depth = new Int32Array(tree.size);
  for (let place = 1; place < depth.length; place++) {
    const above = depth[tree.parent[place] as number] as number;
    if (above > 0) depth[place] = above + 1;
    else if (start[place]) depth[place] = 1;
  }
  return depth;
}

/** Take from the visible what is below a visible place that is trimmed. */
function trim(tree: Tree, visible: Flags, trimmed: Flags, cutsItself: boolean): void {
  if (trimmed[0]) {
    visible.fill(0);
    return;
  }
  const isCut = new Uint8Array(tree.size);
  const cuts = trimmed.map((each, place) => each & (visible[place] as number));
  for (let place = 1; place < visible.length; place++) {
    const above = tree.parent[place] as number;
    isCut[place] = (isCut[above] as number) | (cuts[above] as number);
    if (isCut[place] || (cutsItself && cuts[place])) visible[place] = 0;
  }
}

function restrict(visible: Flags, mask: Flags): void {
  for (let place = 0; place < visible.length; place++) {
    visible[place] = (visible[place] as number) & (mask[place] as number);
  }
}
