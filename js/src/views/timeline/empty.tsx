// What is seen where there is nothing to draw: why, and how to change it.

import type { TimelineState } from "./timeline_state.ts";
import { whyEmpty } from "./why_empty.ts";

/** The reason and the remedy. */
export function Empty({ state }: { readonly state: TimelineState }) {
  const { reason, remedy } = whyEmpty(state.profile.value, state.layout.value);
  return (
    <section class="timeline empty" aria-label="timeline">
      <p>
        <b>{reason}</b>
      </p>
      <p>{remedy}</p>
    </section>
  );
}
