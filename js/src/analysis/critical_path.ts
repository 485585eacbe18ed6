// The critical path of recorded steps on the timeline: the executions that are on it, and how much later others could end.

import type { Profile } from "../data/profile.ts";
import { shortTime } from "../lib/format.ts";

/** Stands for the slack of what is on the path, as in Python; that of what was not replayed is -1. */
const ON_PATH = -2;

/** The slack of each execution in microseconds; null where no path is known. */
export function slackOf({ late, executions }: Profile): Int32Array | null {
  const found = late?.("critical.execution_slack", "indices", true) as Int32Array | undefined;
  return found?.length === executions.node.length ? found : null;
}

/** The executions on the path that began at some time, step by step in the order of their starts. */
export function rowsOnPath(
  { executions }: Profile,
  slack: Int32Array | null,
  start: ArrayLike<number>,
): number[] {
  const found: number[] = [];
  slack?.forEach((each, row) => {
    if (each === ON_PATH && (start[row] as number) >= 0) found.push(row);
  });
  const { step } = executions;
  return found.sort(
    (one, other) =>
      (step[one] as number) - (step[other] as number) || (start[one] as number) - (start[other] as number),
  );
}

/** How an execution stands to the path, in words; empty where that is not known. */
export function pathText(slack: Int32Array | null, row: number): string {
  const found = slack?.[row] ?? -1;
  if (found === ON_PATH) return "on it";
  return found < 0 ? "" : `not on it: could end ${found ? shortTime(found) : "less than 1 µs"} later`;
}
