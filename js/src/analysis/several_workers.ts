// Whether a profile has several workers, of which some things are only shown then.

import type { Profile } from "../data/profile.ts";

/** Whether its steps are those of several. */
export function hasSeveralWorkers({ stepWorkers }: Profile): boolean {
  return stepWorkers.some((worker) => worker !== stepWorkers[0]);
}
