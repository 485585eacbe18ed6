// What is seen where there is nothing to draw: why, and how to change it.

import { whyTimelineIsEmpty } from "../../analysis/why_empty.ts";
import type { TimelineState } from "./state.ts";

/** The reason and the remedy. */
export function EmptyTimeline({ state }: { readonly state: TimelineState }) {
  const { reason, remedy } = whyTimelineIsEmpty(state.profile.value, state.layout.value);
  return (
    <section class="timeline empty" aria-label="timeline">
      <p>
        <b>{reason}</b>
      </p>
      <p>{remedy}</p>
    </section>
  );
}
