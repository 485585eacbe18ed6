// Which steps the timeline shows: the one that is chosen, or all whose runs have a matching name.

import { Names } from "../../engine/matching.ts";
import type { Profile } from "../../profile.ts";
import type { Options } from "../../protocol.ts";

/** The indices of the steps that the options choose; all of them where the options choose none that there is. */
export function chosenSteps(
  { steps, stepNames }: Profile,
  { step, runNameRegexes }: Options,
): readonly number[] {
  const all = [...steps.keys()];
  if (step >= 0) return all.filter((index) => steps[index] === step);
  try {
    const matching = new Names(stepNames).matching("run_name_regexes", runNameRegexes);
    return all.filter((index) => matching[index]);
  } catch {
    return all; // the text box says what is wrong with the regex
  }
}
