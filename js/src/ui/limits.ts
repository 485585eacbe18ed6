// How far the values of the profile reach, for sliders that end where it ends.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { OptionDescription } from "../data/protocol.ts";
import { isMeasure, type Measure, type Measures } from "../engine/measures.ts";
import type { Tree } from "../engine/tree.ts";
import { countsAt, depthStops, thresholdStops } from "../lib/stops.ts";
import type { ControlProps } from "./fields.tsx";

/** Where a value can stand, and how many nodes stand at each stop or between it and the next. */
export interface Limits {
  readonly stops: readonly number[];
  readonly counts: Float64Array | null;
}

/** The limits of an option in what is shown now; they stay the same while thresholds move. */
export function useLimits({ store, option }: ControlProps): ReadonlySignal<Limits> {
  const sums = useComputed(() => store.evaluation.value.view?.sums);
  return useComputed(() => {
    if (option.name === "step")
      return { stops: [...new Set([-1, ...store.shown.profile.steps])], counts: null };
    if (option.name === "max_depth") {
      return {
        stops: depthStops(deepest(sums.value?.forest.tree, store.table.value === "op")),
        counts: null,
      };
    }
    return thresholds(sums.value?.measures, measureOf(option));
  });
}

/** The measure that an option sets a threshold for. */
function measureOf({ name }: OptionDescription): Measure {
  const measure = name.replace("min_", "");
  return isMeasure(measure) ? measure : "runs";
}

function thresholds(measures: Measures | undefined, measure: Measure): Limits {
  if (!measures) return { stops: thresholdStops(1), counts: null };
  const column = measures.column(measure);
  const unit = measures.unit(measure);
  const stops = thresholdStops(column.reduce((sum, value) => sum + value, 0) / unit);
  return { stops, counts: countsAt(stops, column, unit) };
}

/** The `max_depth` that shows everything; in op view it counts op types. */
function deepest(tree: Tree | undefined, isFlat: boolean): number {
  if (!tree) return 1;
  return isFlat ? tree.size - 1 : tree.depth.reduce((most, depth) => Math.max(most, depth), 0) + 1;
}
