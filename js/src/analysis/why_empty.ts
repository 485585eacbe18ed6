// Why there is nothing to draw, and what to do about it.

import type { Profile } from "../data/profile.ts";
import type { Layout } from "./timeline_layout.ts";

/** A reason and a remedy. */
export interface EmptyTimelineReason {
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
