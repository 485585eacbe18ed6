// The timeline in small, beside a table: the lanes in which most happened, all of the time.

import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { laneLabel } from "../../analysis/lanes.ts";
import { addLaneSpans, Spans } from "../../analysis/spans.ts";
import { busiestLanes, type MiniLane } from "../../analysis/timeline_layout.ts";
import type { Store } from "../../state/store.ts";
import { onAppearance, oncePerFrame, type Palette, paletteOf } from "../../ui/canvas.ts";
import { afterPaint } from "../../ui/lazy.tsx";
import { selectNode } from "./actions.ts";
import { fitted, sliceAt } from "./geometry.ts";
import { paintSpans } from "./paint.ts";
import { type TimelineState, timelineStateOf } from "./state.ts";

const ROW = 17;
const SLICE = 13;
/** How near to a slice is near enough, as a part of the width. */
const NEAR = 0.01;

/** An overview: a click selects what ran there; the button opens the timeline itself. It waits until the table is painted. */
export function MiniTimeline({ store }: { readonly store: Store }) {
  const [isDue, setDue] = useState(false);
  useEffect(() => {
    const painted = afterPaint(() => setDue(true));
    painted.ask();
    return painted.cancel;
  }, []);
  return isDue ? <Strip state={timelineStateOf(store)} /> : null;
}

function Strip({ state }: { readonly state: TimelineState }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { layout, painted } = state.small.value;
  const lanes = busiestLanes(layout);
  const hasLanes = lanes.length > 0;
  useEffect(() => {
    if (hasLanes && canvas.current) return paintMiniOnChange(state, canvas.current);
    return undefined;
  }, [state, hasLanes]);
  if (!hasLanes) return null;
  const all = painted.length;
  const names = lanes.map((lane) => nameOf(state, lane));
  return (
    <section class="overview" aria-label="timeline overview">
      <header>
        <h3>Timeline</h3>
        {all > lanes.length && <span class="dim">{`${lanes.length} of ${all} lanes`}</span>}
        <button
          type="button"
          aria-label="open the timeline"
          onClick={() => {
            state.store.tab.value = "timeline";
          }}
        >
          open
        </button>
      </header>
      <div class="lanes">
        <ol>
          {names.map((name) => (
            <li key={name} title={name}>
              {name}
            </li>
          ))}
        </ol>
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${layout.slices.toLocaleString("en")} executions in ${all} lanes`}
          style={{ height: `${lanes.length * ROW}px` }}
          onClick={(event) => selectAt(state, lanes, event)}
        />
      </div>
    </section>
  );
}

function selectAt(
  state: TimelineState,
  lanes: readonly MiniLane[],
  event: MouseEvent & { readonly currentTarget: HTMLElement },
): void {
  const row = lanes[Math.floor(event.offsetY / ROW)];
  if (!row) return;
  const { layout, painted } = state.small.value;
  const time = (event.offsetX / event.currentTarget.clientWidth) * layout.end;
  const all = painted.map(({ lane }) => lane);
  const place = sliceAt(all, row.lane, time, NEAR * layout.end);
  const execution = place && (all[place.lane]?.execution[place.slice] as number);
  selectNode(state, execution === null ? "" : state.nodeOf(execution), event.ctrlKey || event.metaKey);
}

function nameOf(state: TimelineState, { track: index, lane: number }: MiniLane): string {
  const { layout, painted } = state.small.value;
  const track = layout.tracks[index];
  const lane = painted[number]?.lane;
  if (!track || !lane) return "";
  const device = state.deviceName(track.device);
  return track.lanes.filter(({ isTransfers }) => !isTransfers).length === 1
    ? device
    : `${device} · ${laneLabel(track, lane)}`;
}

/** Keep the strip painted; returns what ends this. */
function paintMiniOnChange(state: TimelineState, canvas: HTMLCanvasElement): () => void {
  const context = canvas.getContext("2d");
  if (!context) return () => {};
  const runs = new Spans();
  let palette: Palette | null = null;
  const painting = oncePerFrame(() => {
    const { clientWidth, clientHeight } = canvas;
    if (!clientWidth) return;
    const ratio = canvas.ownerDocument.defaultView?.devicePixelRatio ?? 1;
    [canvas.width, canvas.height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    palette ??= paletteOf(canvas);
    runs.clear();
    const tops = new Int32Array(state.small.value.painted.length);
    const { small, slices } = state;
    const { layout, painted } = small.value;
    const heights = new Int32Array(tops.length).fill(Math.round(SLICE * ratio));
    busiestLanes(layout).forEach(({ lane }, row) => {
      const own = painted[lane];
      tops[lane] = Math.round((row * ROW + (ROW - SLICE) / 2) * ratio);
      if (own) addLaneSpans(runs, lane, own, fitted(layout.end), canvas.width, slices.value.step);
    });
    paintSpans(context, runs, { left: 0, tops, heights, ratio }, palette);
  });
  const unfollow = onAppearance(canvas, () => {
    palette = null;
    painting.ask();
  });
  const end = effect(() => {
    void state.small.value;
    painting.ask();
  });
  return () => {
    end();
    unfollow();
    painting.cancel();
  };
}
