// The timeline: when each op ran, on which device and in which lane.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { CATEGORIES } from "../../analysis/op_categories.ts";
import type { Store } from "../../state/store.ts";
import { useText } from "./busy_text.ts";
import { EmptyTimeline } from "./empty.tsx";
import { ChosenLine } from "./said.tsx";
import { followSearchBox } from "./search_box.ts";
import { TimelineCanvas } from "./stage.tsx";
import { type TimelineState, timelineStateOf } from "./state.ts";
import { Toolbar } from "./toolbar.tsx";

/** All of a graph's executions in the chosen step or steps. */
export function Timeline({ store }: { readonly store: Store }) {
  const state = timelineStateOf(store);
  const section = useRef<HTMLElement>(null);
  const layout = state.layout.value;
  const hasSlices = layout.slices > 0;
  useLayoutEffect(() => state.settle(), [state, layout]);
  useEffect(() => {
    if (hasSlices && section.current) return followSearchBox(state, section.current);
    return undefined;
  }, [state, hasSlices]);
  if (!hasSlices) return <EmptyTimeline state={state} />;
  return (
    <section ref={section} class="timeline" aria-label="timeline">
      <Toolbar state={state} />
      <TimelineCanvas state={state} summary={summaryOf(state)} />
      <ChosenLine state={state} />
      <ul class="legend" aria-label="colours">
        {CATEGORIES.map((category, index) => (
          <li key={category}>
            <i style={{ background: `var(--category-${index + 1})` }} />
            {category}
          </li>
        ))}
        {layout.transfers > 0 && (
          <li>
            <i class="hatched" />
            transfer between devices
          </li>
        )}
      </ul>
    </section>
  );
}

/** What there is to see, for who does not see it. */
function summaryOf(state: TimelineState): string {
  const { steps, slices, transfers } = state.layout.value;
  const devices = state.uses.value.map((use) => `${state.deviceName(use.device)}: ${useText(use)}`);
  const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
  const moved = transfers ? ` and ${transfers.toLocaleString("en")} transfers` : "";
  const executions = (slices - transfers).toLocaleString("en");
  return `timeline of ${executions} executions${moved} in ${count}. ${devices.join(". ")}`;
}
