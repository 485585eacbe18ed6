// What keys, pointer and wheel do on the timeline.

import type { Viewport } from "../../analysis/spans.ts";
import { selectionAfter } from "../../state/selection.ts";
import {
  across,
  along,
  around,
  type CanvasSize,
  fitted,
  headHeight,
  nextHighlighted,
  panned,
  rowAt,
  type SlicePosition,
  samePosition,
  showing,
  sliceAt,
  zoomed,
} from "./geometry.ts";
import type { TimelineState } from "./state.ts";

const ZOOM = 0.7;
const PAN = 0.15;

/** Do what a key stands for; returns whether it stands for anything. */
export function onTimelineKey(state: TimelineState, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const action = ACTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  action?.(state, event.shiftKey);
  return action !== undefined;
}

/** Zoom around what is chosen if it is seen, else around the middle. */
export function zoom(state: TimelineState, factor: number): void {
  const { from, to } = state.visibleTime.value;
  const current = state.current.value && state.spanOf(state.current.value);
  const middle = current ? (current.from + current.to) / 2 : -1;
  const at = middle >= from && middle <= to ? middle : (from + to) / 2;
  state.visibleTime.value = zoomed(state.visibleTime.value, factor, at, state.layout.value.end);
}

/** See all. */
export function showAll({ layout, visibleTime }: TimelineState): void {
  visibleTime.value = fitted(layout.value.end);
}

/** See the marked range, or else the chosen slice. */
export function showMarked(state: TimelineState): void {
  const { layout, range, current, visibleTime } = state;
  const span = range.value ?? (current.value && state.spanOf(current.value));
  if (span) visibleTime.value = around(span, layout.value.end);
}

/** Choose a slice and bring it into sight. */
export function choose(state: TimelineState, place: SlicePosition | null): void {
  if (!place) return;
  const { from, to } = state.spanOf(place);
  state.current.value = place;
  state.visibleTime.value = showing(state.visibleTime.value, from, to, state.layout.value.end);
}

/** Go to the next slice that is searched for or selected, or to the one before. */
export function chooseHighlighted(state: TimelineState, by: 1 | -1): void {
  if (!state.highlighted.value) return;
  choose(
    state,
    nextHighlighted(
      state.lanes.value,
      (lane, slice) => state.isHighlighted(lane, slice),
      state.current.value,
      by,
    ),
  );
}

/** Draw the critical path, or no longer. */
export function togglePath({ showsPath, slack }: TimelineState): void {
  showsPath.value = !showsPath.value && slack.value !== null;
}

/** Go to the next slice of the critical path, or to the one before. */
export function chooseOnPath(state: TimelineState, by: 1 | -1): void {
  const { current, path } = state;
  const at = path.value.findIndex((each) => samePosition(each, current.value));
  const here = current.value ? state.spanOf(current.value).from : 0;
  const after = path.value.findIndex((each) => state.spanOf(each).from >= here);
  const next = at >= 0 ? at + by : by > 0 ? after : after - 1;
  choose(state, path.value[Math.max(next, 0)] ?? path.value.at(-1) ?? null);
}

/** See the next step, or the one before. */
export function chooseStep(state: TimelineState, by: 1 | -1): void {
  const { steps, end } = state.layout.value;
  const { from, to } = state.visibleTime.value;
  const middle = (from + to) / 2;
  const isWhole = from <= 0 && to >= end;
  const here = steps.findIndex((step) => step.to >= middle);
  const next = isWhole ? (by > 0 ? 0 : steps.length - 1) : here + by;
  const step = steps[Math.min(Math.max(next, 0), steps.length - 1)];
  if (step) state.visibleTime.value = around(step, end);
}

/** Select the nodes of a slice, alone or together with what is selected already. */
export function select(state: TimelineState, place: SlicePosition | null, together: boolean): void {
  const name = place && state.nodeAt(place);
  if (name !== "") selectNode(state, name ?? "", together);
}

/** Select a node by name, alone or together with what is selected already; no name takes back what is. */
export function selectNode(state: TimelineState, name: string, together: boolean): void {
  const selection = state.store.selection;
  if (!name) {
    if (!together) selection.value = [];
    return;
  }
  selection.value = together ? selectionAfter(selection.value, name, true) : [name];
}

function pan(state: TimelineState, by: number): void {
  const { from, to } = state.visibleTime.value;
  state.visibleTime.value = panned(state.visibleTime.value, by * (to - from), state.layout.value.end);
}

/** Along a lane; with `extending` the range grows from the slice chosen before to the one chosen now. */
function step(state: TimelineState, by: number, extending: boolean): void {
  const before = state.current.value;
  if (!before) {
    choose(state, firstSeen(state));
    return;
  }
  const now = along(state.lanes.value, before, by);
  choose(state, now);
  if (!extending) return;
  const [old, added] = [state.range.value ?? state.spanOf(before), state.spanOf(now)];
  state.range.value = { from: Math.min(old.from, added.from), to: Math.max(old.to, added.to) };
}

function firstSeen(state: TimelineState): SlicePosition | null {
  const { from, to } = state.visibleTime.value;
  const lanes = state.lanes.value;
  const ofDevices = [...lanes.keys()].filter((lane) => !lanes[lane]?.context);
  for (const lane of ofDevices) {
    const found = sliceAt(lanes, lane, from, to - from);
    if (found) return found;
  }
  return null;
}

function cross(state: TimelineState, by: 1 | -1): void {
  const { current, lanes } = state;
  choose(state, current.value ? across(lanes.value, current.value, by) : firstSeen(state));
}

/** Mark the longest time in which the device of the chosen slice, else the first, did nothing; see it and what is around it. */
export function showGap(state: TimelineState): void {
  const { current, layout, range, rows, visibleTime, uses } = state;
  const track = rows.value.find(({ lane }) => lane === current.value?.lane)?.track ?? -1;
  const gap = (state.useOfTrack(track) ?? uses.value[0])?.longestGap;
  if (!gap) return;
  const air = gap.to - gap.from;
  range.value = gap;
  visibleTime.value = around({ from: gap.from - air, to: gap.to + air }, layout.value.end);
}

function clear(state: TimelineState): void {
  if (state.range.value) state.range.value = null;
  else if (state.current.value) state.current.value = null;
  else state.store.selection.value = [];
}

const ACTIONS: Readonly<Record<string, (state: TimelineState, shift: boolean) => void>> = {
  w: (state) => zoom(state, ZOOM),
  "+": (state) => zoom(state, ZOOM),
  "=": (state) => zoom(state, ZOOM),
  s: (state) => zoom(state, 1 / ZOOM),
  "-": (state) => zoom(state, 1 / ZOOM),
  a: (state) => pan(state, -PAN),
  d: (state) => pan(state, PAN),
  f: showAll,
  Home: showAll,
  m: showMarked,
  ArrowRight: (state, shift) => step(state, 1, shift),
  ArrowLeft: (state, shift) => step(state, -1, shift),
  ArrowDown: (state) => cross(state, 1),
  ArrowUp: (state) => cross(state, -1),
  g: showGap,
  c: togglePath,
  p: (state, shift) => chooseOnPath(state, shift ? -1 : 1),
  n: (state, shift) => chooseHighlighted(state, shift ? -1 : 1),
  "]": (state) => chooseStep(state, 1),
  "[": (state) => chooseStep(state, -1),
  Enter: (state, shift) => select(state, state.current.value, shift),
  " ": (state, shift) => select(state, state.current.value, shift),
  Escape: clear,
};

/** Where the pointer listens, and how large what it is over is. */
interface PointerArea {
  readonly overlay: HTMLElement;
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
  readonly visibleTime: Viewport;
  readonly scrolled: number;
  readonly marks: boolean;
  moved: boolean;
}

/** Let pointer and wheel move a timeline; returns what ends this. */
export function followPointer(state: TimelineState, stage: PointerArea): () => void {
  const { overlay } = stage;
  let press: Press | null = null;
  const listeners: { [Type in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Type]) => void } = {
    pointerdown: (event) => {
      if (event.button !== 0) return;
      overlay.setPointerCapture(event.pointerId);
      const { x, y } = positionIn(stage, event);
      const scrolled = stage.scroller.scrollTop;
      press = { x, y, visibleTime: state.visibleTime.value, scrolled, marks: event.shiftKey, moved: false };
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
      state.isMarking.value = false;
      if (!released || released.moved) return;
      const { x, y } = positionIn(stage, event);
      click(state, placeAt(state, stage, x, y), event.ctrlKey || event.metaKey);
    },
    pointercancel: () => {
      press = null;
      state.isMarking.value = false;
    },
    pointerleave: () => hover(state, null),
    dblclick: () => {
      if (state.current.value)
        state.visibleTime.value = around(state.spanOf(state.current.value), state.layout.value.end);
    },
    wheel: (event) => turn(state, stage, event),
  };
  for (const [type, listener] of Object.entries(listeners)) {
    overlay.addEventListener(type, listener as EventListener, { passive: false });
  }
  return () => {
    for (const [type, listener] of Object.entries(listeners))
      overlay.removeEventListener(type, listener as EventListener);
  };
}

/** The time at a distance from the left of the canvas. */
function timeAt(state: TimelineState, { frame }: PointerArea, x: number): number {
  const { gutter, width } = frame();
  const { from, to } = state.visibleTime.value;
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
  const { from, to } = state.visibleTime.value;
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
    state.isMarking.value = true;
    const [from = 0, to = 0] = times.map((time) => Math.min(Math.max(time, 0), end));
    state.range.value = { from, to };
    return;
  }
  const { gutter, width } = stage.frame();
  const { from, to } = press.visibleTime;
  const by = ((press.x - x) / Math.max(width - gutter, 1)) * (to - from);
  state.visibleTime.value = panned(press.visibleTime, by, state.layout.value.end);
  stage.scroller.scrollTop = press.scrolled + press.y - y;
}

/** With ctrl or ⌘, or once the timeline has the focus, the wheel zooms; with shift or sideways it pans; else the page scrolls. */
function turn(state: TimelineState, stage: PointerArea, event: WheelEvent): void {
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : LINE;
  const { end } = state.layout.value;
  const { gutter, width } = stage.frame();
  const { from, to } = state.visibleTime.value;
  const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  const isFocused = (stage.overlay.getRootNode() as Document | ShadowRoot).activeElement === stage.overlay;
  if (event.ctrlKey || event.metaKey || (isFocused && !isSideways)) {
    const { x } = positionIn(stage, event);
    const factor = Math.exp(event.deltaY * unit * WHEEL);
    state.visibleTime.value = zoomed(
      state.visibleTime.value,
      factor,
      timeAt(state, stage, Math.max(x, gutter)),
      end,
    );
  } else if (isSideways) {
    const by = ((event.deltaX || event.deltaY) * unit * (to - from)) / Math.max(width - gutter, 1);
    state.visibleTime.value = panned(state.visibleTime.value, by, end);
  } else return;
  hover(state, null);
  event.preventDefault();
}
