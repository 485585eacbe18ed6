// Where things are on the timeline: the visible time, the rows, the slice at a point and its neighbours.

import { firstAbove, isContext, type Lane } from "../../analysis/lanes.ts";
import type { Viewport } from "../../analysis/spans.ts";
import type { Layout } from "../../analysis/timeline_layout.ts";

/** A slice: which of a lane, and which lane of all. */
export interface SlicePosition {
  readonly lane: number;
  readonly slice: number;
}

/** The slice that runs at a time, or the nearest one no further away than `near`; null if there is none. */
export function sliceAt(
  lanes: readonly Lane[],
  lane: number,
  time: number,
  near: number,
): SlicePosition | null {
  const found = lanes[lane];
  if (!found) return null;
  const after = firstAbove(found.start, time); // the first that starts later
  const candidates = [after - 1, after].filter((slice) => slice >= 0 && slice < found.start.length);
  const distance = (slice: number): number =>
    Math.max((found.start[slice] as number) - time, time - (found.end[slice] as number), 0);
  const [best] = candidates.sort((one, other) => distance(one) - distance(other));
  return best !== undefined && distance(best) <= near ? { lane, slice: best } : null;
}

/** The slice so many places later in the same lane, or the one at its end. */
export function along(lanes: readonly Lane[], { lane, slice }: SlicePosition, by: number): SlicePosition {
  const last = (lanes[lane]?.start.length ?? 1) - 1;
  return { lane, slice: Math.min(Math.max(slice + by, 0), last) };
}

/** The slice nearest in time in the lane below (1) or above (-1). */
export function across(lanes: readonly Lane[], place: SlicePosition, by: 1 | -1): SlicePosition {
  const lane = place.lane + by;
  return sliceAt(lanes, lane, middleOf(lanes, place), Number.POSITIVE_INFINITY) ?? place;
}

/** The next slice (1) or the one before (-1) that is highlighted, in the order of their starts; it goes round. */
export function nextHighlighted(
  lanes: readonly Lane[],
  isHighlighted: (lane: number, slice: number) => boolean,
  place: SlicePosition | null,
  by: 1 | -1,
): SlicePosition | null {
  const here = place ? startOf(lanes, place) : by * Number.NEGATIVE_INFINITY;
  const later = (one: Candidate, other: Candidate | null): boolean =>
    other === null || by * (one.start - other.start || one.lane - other.lane) > 0;
  const at: Candidate | null = place && { ...place, start: here };
  let next: Candidate | null = null;
  let first: Candidate | null = null;
  for (let lane = 0; lane < lanes.length; lane++) {
    const { start } = lanes[lane] as Lane;
    for (let i = 0; i < start.length; i++) {
      const slice = by > 0 ? i : start.length - 1 - i;
      if (!isHighlighted(lane, slice)) continue;
      const found = { lane, slice, start: start[slice] as number };
      if (!first || !later(found, first)) first = found;
      if (!later(found, at) || samePosition(found, place)) continue;
      if (!next || !later(found, next)) next = found;
      break; // what follows in this lane is further away
    }
  }
  const found = next ?? first;
  return found && { lane: found.lane, slice: found.slice };
}

interface Candidate extends SlicePosition {
  readonly start: number;
}

/** Whether two places are the same. */
export function samePosition(one: SlicePosition | null, other: SlicePosition | null): boolean {
  return one === other || (one?.lane === other?.lane && one?.slice === other?.slice);
}

/** When a slice starts. */
export function startOf(lanes: readonly Lane[], { lane, slice }: SlicePosition): number {
  return lanes[lane]?.start[slice] ?? 0;
}

/** When a slice ends. */
export function endOf(lanes: readonly Lane[], { lane, slice }: SlicePosition): number {
  return lanes[lane]?.end[slice] ?? 0;
}

function middleOf(lanes: readonly Lane[], place: SlicePosition): number {
  return (startOf(lanes, place) + endOf(lanes, place)) / 2;
}

/** The shortest time that can fill the width. */
const SHORTEST = 200;

/** The whole, with a little air at the right. */
export function fitted(end: number): Viewport {
  return { from: 0, to: Math.max(end, SHORTEST) };
}

/** A part with some of what is around it, within the whole. */
export function around(part: Viewport, end: number): Viewport {
  const air = (part.to - part.from) * 0.02;
  return within({ from: part.from - air, to: part.to + air }, end);
}

/** `factor` times as much as now, while the time `at` stays where it is. */
export function zoomed({ from, to }: Viewport, factor: number, at: number, end: number): Viewport {
  const length = Math.max((to - from) * factor, SHORTEST);
  const left = at - ((at - from) / (to - from)) * length;
  return within({ from: left, to: left + length }, end);
}

/** As much as now, further to the right by some time. */
export function panned({ from, to }: Viewport, by: number, end: number): Viewport {
  return within({ from: from + by, to: to + by }, end);
}

/** Moved as little as it takes to see a slice, or the start of one that is longer than what is seen. */
export function showing(viewport: Viewport, from: number, to: number, end: number): Viewport {
  const length = viewport.to - viewport.from;
  const air = Math.max(Math.min((length - (to - from)) / 2, length / 10), 0);
  if (from < viewport.from || (to > viewport.to && air === 0)) {
    return panned(viewport, from - air - viewport.from, end);
  }
  return to > viewport.to ? panned(viewport, to + air - viewport.to, end) : viewport;
}

function within({ from, to }: Viewport, end: number): Viewport {
  const whole = fitted(end);
  const length = Math.min(Math.max(to - from, SHORTEST), whole.to);
  const left = Math.min(Math.max(from, 0), whole.to - length);
  return { from: left, to: left + length };
}

/** A row; `lane` counts over all tracks, -1 for a device's own line, which what stands above the devices has not. */
export interface LaneRow {
  readonly track: number;
  readonly lane: number;
  readonly top: number;
  readonly height: number;
}

/** Few lanes are given more room than many. */
const HEIGHTS: readonly (readonly [lanes: number, height: number])[] = [
  [4, 30],
  [12, 24],
];
const LOW = 18;
const CONTEXT_HEIGHT = 18;
export const AXIS_HEIGHT = 22;
export const STEPS_HEIGHT = 16;
const DEVICE_HEIGHT = 26;
const SPACE = 6;

/** The rows, the first at the top of the lanes' own space. */
export function rowsOf(layout: Layout): readonly LaneRow[] {
  const rows: LaneRow[] = [];
  const ofDevices = layout.tracks.filter((track) => !isContext(track));
  const count = ofDevices.reduce((sum, { lanes }) => sum + lanes.length, 0);
  const height = HEIGHTS.find(([most]) => count <= most)?.[1] ?? LOW;
  let [top, lane] = [0, 0];
  layout.tracks.forEach((each, track) => {
    const isAbove = isContext(each);
    if (!isAbove) {
      rows.push({ track, lane: -1, top, height: DEVICE_HEIGHT });
      top += DEVICE_HEIGHT;
    } else top += SPACE / 2;
    for (const _ of each.lanes) {
      const own = isAbove ? CONTEXT_HEIGHT : height;
      rows.push({ track, lane, top, height: own });
      top += own;
      lane += 1;
    }
    top += SPACE;
  });
  return rows;
}

/** The height of the slices in a row: a little is left free below them. */
export function sliceHeight({ height }: LaneRow): number {
  return height - 2;
}

/** The height of what is above the rows: the times, and the steps where there are several. */
export function headHeight(layout: Layout): number {
  return AXIS_HEIGHT + (layout.steps.length > 1 ? STEPS_HEIGHT : 0);
}

/** The height of all rows. */
export function heightOf(rows: readonly LaneRow[]): number {
  const last = rows.at(-1);
  return last ? last.top + last.height + SPACE : 0;
}

/** The row at a height, null between rows. */
export function rowAt(rows: readonly LaneRow[], y: number): LaneRow | null {
  return rows.find(({ top, height }) => y >= top && y < top + height) ?? null;
}

/** The canvas's size in CSS pixels, how many pixels of the screen make one, and how far the lanes are scrolled. */
export interface CanvasSize {
  readonly width: number;
  readonly height: number;
  readonly ratio: number;
  readonly scrolled: number;
  /** The width of the names at the left. */
  readonly gutter: number;
}

/** A row that is seen, and its top in the canvas. */
export interface SeenRow extends LaneRow {
  readonly y: number;
}

/** The part of the canvas that shows time, in CSS pixels. */
export interface TimeArea {
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  readonly viewport: Viewport;
}

/** Where a time is, in CSS pixels. */
export function positionOf({ left, right, viewport }: TimeArea, time: number): number {
  return left + ((time - viewport.from) / (viewport.to - viewport.from)) * (right - left);
}
