// Which steps of which workers the options choose.

import { OptionError } from "../data/options.ts";
import { cacheOf, type Profile } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import { Names } from "./matching.ts";

/** The indices of the steps to look at: those of the number, or whose run has a matching name, of all workers meant. */
export function chosenSteps(profile: Profile, options: Options): number[] {
  const { steps, stepNames, stepWorkers } = profile;
  const ofWorkers = matching(profile, stepWorkers, "worker_regexes", options.workerRegexes, "worker");
  const hasWorker = (index: number) => stepWorkers.length === 0 || Boolean(ofWorkers[index]);
  const indices = [...steps.keys()];
  if (options.step >= 0) {
    if (!steps.includes(options.step)) {
      const known = [...new Set(steps)].join(", ") || "none: no run metadata was given";
      throw new OptionError("step", `${options.step} is not in the profile; its steps are ${known}`);
    }
    const chosen = indices.filter((index) => steps[index] === options.step && hasWorker(index));
    if (chosen.length > 0) return chosen;
    throw new OptionError("step", `${options.step} was run by no worker that worker_regexes match`);
  }
  const ofRuns = matching(profile, stepNames, "run_name_regexes", options.runNameRegexes, "run");
  const chosen = indices.filter((index) => ofRuns[index] && hasWorker(index));
  if (chosen.length > 0 || steps.length === 0) return chosen;
  throw new OptionError(
    "run_name_regexes",
    "no step matches this and worker_regexes together; change one of them",
  );
}

/** The same steps, a group a worker. */
export function byWorker(profile: Profile, steps: readonly number[]): number[][] {
  const groups = new Map<string, number[]>();
  for (const step of steps) {
    const worker = profile.stepWorkers[step] ?? "";
    groups.set(worker, [...(groups.get(worker) ?? []), step]);
  }
  return [...groups.keys()].sort().map((worker) => groups.get(worker) as number[]);
}

function matching(
  profile: Profile,
  known: readonly string[],
  option: string,
  regexes: readonly string[],
  what: string,
): ArrayLike<number> {
  const names = cacheOf(profile).kept(`names of ${option}`, () => new Names(known));
  const found = names.matching(option, regexes);
  if (known.length === 0 || [...known.keys()].some((index) => found[index])) return found;
  const shown = [...new Set(known)].sort().map((name) => JSON.stringify(name));
  throw new OptionError(option, `no ${what} matches; the ${what}s are ${shown.join(", ")}`);
}
