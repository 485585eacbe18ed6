// The line below the timeline: the slice that is chosen and the range that is marked; a screen reader reads it out.

import { shortTime } from "../../lib/format.ts";
import { rangeText } from "./busy_text.ts";
import { detailsOf, spokenSlice } from "./details.ts";
import type { TimelineState } from "./state.ts";

/** What is chosen, in words. */
export function ChosenLine({ state }: { readonly state: TimelineState }) {
  const current = state.current.value;
  const range = state.range.value;
  const details = current && detailsOf(state, current);
  return (
    <div class="said" aria-live="polite">
      {range && (
        <p>
          <b>{shortTime((range.to - range.from) / 1000)} marked</b>
          {state.usesOf(range).map((use) => (
            <span key={use.device}>
              {state.deviceName(use.device)}: {rangeText(use)}
            </span>
          ))}
        </p>
      )}
      {details && <p>{spokenSlice(details)}</p>}
      {!range && !details && <p class="dim">Click a slice, or press an arrow key, to see what it is.</p>}
    </div>
  );
}
