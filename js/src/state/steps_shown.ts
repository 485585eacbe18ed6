// Which steps a panel shows that looks at recorded times, as the timeline does: those that the options choose.

import { computed, type ReadonlySignal } from "@preact/signals";
import type { Profile } from "../data/profile.ts";
import { chosenSteps } from "../engine/steps.ts";
import type { Store } from "./store.ts";

/** The indices of the steps that the options choose, separated by commas; as in the tables, the last that there were. */
export function stepsShown(store: Store): ReadonlySignal<string> {
  const good = new Map<Profile, string>();
  return computed(() => {
    const { profile } = store.shown;
    try {
      good.set(profile, chosenSteps(profile, store.options.value).join());
    } catch {
      // The control of the option says what is wrong with it.
    }
    return good.get(profile) ?? [...profile.steps.keys()].join();
  });
}

/** The indices that `stepsShown` writes. */
export function stepsOf(written: string): readonly number[] {
  return written ? written.split(",").map(Number) : [];
}
