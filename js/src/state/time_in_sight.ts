// Which part of the timeline is in sight: the panel moves it, and the menu draws it.

import { type Signal, signal } from "@preact/signals";
import type { Store } from "./store.ts";

/** A part of the timeline, and the layout in which that is its place. */
interface TimeInSight {
  readonly from: number;
  readonly to: number;
  readonly layout: object;
}

/** The part of the timeline that was in sight last; null where it was not looked at. */
export function timeInSight(store: Store): Signal<TimeInSight | null> {
  return store.kept("time in sight", () => signal(null));
}
