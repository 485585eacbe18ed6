// The part of the timeline that is painted, and over it what takes pointer and keys.

import { useEffect, useRef } from "preact/hooks";
import { canvasSizeOf, paintOnChange } from "../../ui/kept_painted.ts";
import { onTimelineKey } from "./actions.ts";
import { DetailsCard } from "./details_card.tsx";
import { followPointer } from "./pointer.ts";
import { headHeight, heightOf } from "./rows.ts";
import type { TimelineState } from "./state.ts";

/** The painting, which follows the state by itself; `summary` says what is to be seen. */
export function TimelineCanvas({
  state,
  summary,
}: {
  readonly state: TimelineState;
  readonly summary: string;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const glass = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!scroller.current || !canvas.current || !glass.current) return;
    const stage = {
      glass: glass.current,
      scroller: scroller.current,
      frame: () => canvasSizeOf(stage.scroller),
    };
    const unpaint = paintOnChange(state, stage.scroller, canvas.current);
    const unfollow = followPointer(state, stage);
    return () => {
      unfollow();
      unpaint();
    };
  }, [state]);
  const height = headHeight(state.layout.value) + heightOf(state.rows.value);
  const current = state.current.value;
  return (
    <div class="stage">
      <div class="scroller" ref={scroller}>
        <div class="lanes" style={{ height: `${height}px` }}>
          <canvas ref={canvas} role="img" aria-label={summary} />
          <div
            ref={glass}
            class="glass"
            role="listbox"
            aria-label="slices"
            tabIndex={0}
            onKeyDown={(event) => {
              if (onTimelineKey(state, event)) event.preventDefault();
            }}
          >
            <div class="spoken" role="option" aria-selected={current !== null} tabIndex={-1}>
              {current ? state.nameAt(current) : "none chosen: the arrow keys choose one"}
            </div>
          </div>
        </div>
      </div>
      <DetailsCard state={state} />
    </div>
  );
}
