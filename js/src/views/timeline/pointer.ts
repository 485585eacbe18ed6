// What pointer and wheel do in the timeline: hover, choose, drag to pan, drag with shift to mark, wheel to zoom.

import { select } from "./actions.ts";
import { type SlicePosition, samePosition, sliceAt } from "./geometry.ts";
import type { CanvasSize } from "./paint.ts";
import { headHeight, rowAt } from "./rows.ts";
import type { TimelineState } from "./state.ts";
import { around, panned, type Viewport, zoomed } from "./viewport.ts";

/** Where the pointer listens, and how large what it is over is. */
export interface PointerArea {
  readonly glass: HTMLElement;
  readonly scroller: HTMLElement;
  readonly frame: () => CanvasSize;
}

/** From how many pixels on a press is a drag. */
const STILL = 4;
/** How near to a slice is near enough. */
const NEAR = 3;
const WHEEL = 0.002;
const LINE = 16;

interface Press {
  readonly x: number;
  readonly y: number;
  readonly seen: Viewport;
  readonly scrolled: number;
  readonly marks: boolean;
  moved: boolean;
}

/** Let pointer and wheel move a timeline; returns what ends this. */
export function followPointer(state: TimelineState, stage: PointerArea): () => void {
  const { glass } = stage;
  let press: Press | null = null;
  const listeners: { [Type in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Type]) => void } = {
    pointerdown: (event) => {
      if (event.button !== 0) return;
      glass.setPointerCapture(event.pointerId);
      const { x, y } = positionIn(stage, event);
      const scrolled = stage.scroller.scrollTop;
      press = { x, y, seen: state.seen.value, scrolled, marks: event.shiftKey, moved: false };
    },
    pointermove: (event) => {
      const { x, y } = positionIn(stage, event);
      if (press) drag(state, stage, press, x, y);
      else {
        state.pointed.value = { x: event.clientX, y: event.clientY };
        hover(state, placeAt(state, stage, x, y));
      }
    },
    pointerup: (event) => {
      const released = press;
      press = null;
      if (!released || released.moved) return;
      const { x, y } = positionIn(stage, event);
      click(state, placeAt(state, stage, x, y), event.ctrlKey || event.metaKey);
    },
    pointercancel: () => {
      press = null;
    },
    pointerleave: () => hover(state, null),
    dblclick: () => {
      if (state.current.value)
        state.seen.value = around(state.spanOf(state.current.value), state.layout.value.end);
    },
    wheel: (event) => turn(state, stage, event),
  };
  for (const [type, listener] of Object.entries(listeners)) {
    glass.addEventListener(type, listener as EventListener, { passive: false });
  }
  return () => {
    for (const [type, listener] of Object.entries(listeners))
      glass.removeEventListener(type, listener as EventListener);
  };
}

/** The time at a distance from the left of the canvas. */
function timeAt(state: TimelineState, { frame }: PointerArea, x: number): number {
  const { gutter, width } = frame();
  const { from, to } = state.seen.value;
  return from + ((x - gutter) / Math.max(width - gutter, 1)) * (to - from);
}

function positionIn({ scroller }: PointerArea, event: MouseEvent): { x: number; y: number } {
  const box = scroller.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function placeAt(state: TimelineState, stage: PointerArea, x: number, y: number): SlicePosition | null {
  const { gutter, width } = stage.frame();
  const head = headHeight(state.layout.value);
  if (x < gutter || y < head) return null;
  const row = rowAt(state.rows.value, y - head + stage.scroller.scrollTop);
  if (!row || row.lane < 0) return null;
  const { from, to } = state.seen.value;
  const near = (NEAR / Math.max(width - gutter, 1)) * (to - from);
  return sliceAt(state.lanes.value, row.lane, timeAt(state, stage, x), near);
}

function hover(state: TimelineState, place: SlicePosition | null): void {
  if (!samePosition(state.hovered.value, place)) state.hovered.value = place;
}

function click(state: TimelineState, place: SlicePosition | null, together: boolean): void {
  if (!place) state.range.value = null;
  state.current.value = place;
  select(state, place, together);
}

function drag(state: TimelineState, stage: PointerArea, press: Press, x: number, y: number): void {
  if (!press.moved && Math.hypot(x - press.x, y - press.y) < STILL) return;
  press.moved = true;
  hover(state, null);
  if (press.marks) {
    const times = [timeAt(state, stage, press.x), timeAt(state, stage, x)].sort((one, other) => one - other);
    const { end } = state.layout.value;
    const [from = 0, to = 0] = times.map((time) => Math.min(Math.max(time, 0), end));
    state.range.value = { from, to };
    return;
  }
  const { gutter, width } = stage.frame();
  const { from, to } = press.seen;
  const by = ((press.x - x) / Math.max(width - gutter, 1)) * (to - from);
  state.seen.value = panned(press.seen, by, state.layout.value.end);
  stage.scroller.scrollTop = press.scrolled + press.y - y;
}

/** With ctrl or ⌘, or once the timeline has the focus, the wheel zooms; with shift or sideways it pans; else the page scrolls. */
function turn(state: TimelineState, stage: PointerArea, event: WheelEvent): void {
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : LINE;
  const { end } = state.layout.value;
  const { gutter, width } = stage.frame();
  const { from, to } = state.seen.value;
  const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  const isFocused = (stage.glass.getRootNode() as Document | ShadowRoot).activeElement === stage.glass;
  if (event.ctrlKey || event.metaKey || (isFocused && !isSideways)) {
    const { x } = positionIn(stage, event);
    const factor = Math.exp(event.deltaY * unit * WHEEL);
    state.seen.value = zoomed(state.seen.value, factor, timeAt(state, stage, Math.max(x, gutter)), end);
  } else if (isSideways) {
    const by = ((event.deltaX || event.deltaY) * unit * (to - from)) / Math.max(width - gutter, 1);
    state.seen.value = panned(state.seen.value, by, end);
  } else return;
  hover(state, null);
  event.preventDefault();
}
