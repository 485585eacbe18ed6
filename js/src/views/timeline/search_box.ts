// Lets Enter in the widget's search box go from one slice to the next that is found.

import { chooseHighlighted } from "./actions.ts";
import type { TimelineState } from "./state.ts";

/** Listen to the search box of the widget that an element lies in; returns what ends this. */
export function followSearchBox(state: TimelineState, within: Element): () => void {
  const widget = within.closest<HTMLElement>(".tfprof");
  const go = (event: KeyboardEvent): void => {
    const isBox = event.target instanceof Element && event.target.matches("input[type=search]");
    if (event.key === "Enter" && isBox) chooseHighlighted(state, event.shiftKey ? -1 : 1);
  };
  widget?.addEventListener("keydown", go);
  return () => widget?.removeEventListener("keydown", go);
}
