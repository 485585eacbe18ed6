// What the keys do in the timeline, as in Chrome's own tracing where that has a key for it.

import { across, along, nextHighlighted, type SlicePosition, sliceAt } from "./geometry.ts";
import type { TimelineState } from "./state.ts";
import { around, fitted, panned, showing, zoomed } from "./viewport.ts";

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
  const { from, to } = state.seen.value;
  const current = state.current.value && state.spanOf(state.current.value);
  const middle = current ? (current.from + current.to) / 2 : -1;
  const at = middle >= from && middle <= to ? middle : (from + to) / 2;
  state.seen.value = zoomed(state.seen.value, factor, at, state.layout.value.end);
}

/** See all, or the marked range. */
export function seeAll(state: TimelineState): void {
  const { end } = state.layout.value;
  const range = state.range.value;
  state.seen.value = range ? around(range, end) : fitted(end);
}

/** Choose a slice and bring it into sight. */
export function choose(state: TimelineState, place: SlicePosition | null): void {
  if (!place) return;
  const { from, to } = state.spanOf(place);
  state.current.value = place;
  state.seen.value = showing(state.seen.value, from, to, state.layout.value.end);
}

/** Go to the next slice that is searched for or selected, or to the one before. */
export function chooseHighlighted(state: TimelineState, by: 1 | -1): void {
  if (!state.meant.value) return;
  choose(
    state,
    nextHighlighted(state.lanes.value, (lane, slice) => state.isMeant(lane, slice), state.current.value, by),
  );
}

/** See the next step, or the one before. */
export function chooseStep(state: TimelineState, by: 1 | -1): void {
  const { steps, end } = state.layout.value;
  const { from, to } = state.seen.value;
  const middle = (from + to) / 2;
  const isWhole = from <= 0 && to >= end;
  const here = steps.findIndex((step) => step.to >= middle);
  const next = isWhole ? (by > 0 ? 0 : steps.length - 1) : here + by;
  const step = steps[Math.min(Math.max(next, 0), steps.length - 1)];
  if (step) state.seen.value = around(step, end);
}

/** Select the nodes of a slice, alone or together with what is selected already. */
export function select(state: TimelineState, place: SlicePosition | null, together: boolean): void {
  const selection = state.store.selection;
  if (!place) {
    if (!together) selection.value = [];
    return;
  }
  const name = state.nodeAt(place);
  if (!name) return;
  const others = selection.value.filter((each) => each !== name);
  if (!together) selection.value = [name];
  else selection.value = others.length < selection.value.length ? others : [...others, name];
}

function pan(state: TimelineState, by: number): void {
  const { from, to } = state.seen.value;
  state.seen.value = panned(state.seen.value, by * (to - from), state.layout.value.end);
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
  const { from, to } = state.seen.value;
  const lanes = state.lanes.value;
  for (let lane = 0; lane < lanes.length; lane++) {
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
export function seeGap({ current, layout, range, rows, seen, uses }: TimelineState): void {
  const track = rows.value.find(({ lane }) => lane === current.value?.lane)?.track ?? 0;
  const gap = uses.value[track]?.longestGap;
  if (!gap) return;
  const air = gap.to - gap.from;
  range.value = gap;
  seen.value = around({ from: gap.from - air, to: gap.to + air }, layout.value.end);
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
  f: seeAll,
  Home: (state) => {
    state.seen.value = fitted(state.layout.value.end);
  },
  ArrowRight: (state, shift) => step(state, 1, shift),
  ArrowLeft: (state, shift) => step(state, -1, shift),
  ArrowDown: (state) => cross(state, 1),
  ArrowUp: (state) => cross(state, -1),
  g: seeGap,
  n: (state, shift) => chooseHighlighted(state, shift ? -1 : 1),
  "]": (state) => chooseStep(state, 1),
  "[": (state) => chooseStep(state, -1),
  Enter: (state, shift) => select(state, state.current.value, shift),
  " ": (state, shift) => select(state, state.current.value, shift),
  Escape: clear,
};
