// Where in the timeline a slice is, and which lies next to it.

import type { Lane } from "../../analysis/lanes.ts";
import { firstAbove } from "../../analysis/searching.ts";

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

/** The next slice (1) or the one before (-1) that is meant, in the order of their starts; it goes round. */
export function nextHighlighted(
  lanes: readonly Lane[],
  isMeant: (lane: number, slice: number) => boolean,
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
      if (!isMeant(lane, slice)) continue;
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
