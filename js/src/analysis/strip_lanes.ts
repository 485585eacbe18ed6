// Which lanes the strip has room for.

import type { Layout } from "./timeline_layout.ts";

/** A lane, counted over all devices, and which track it belongs to. */
export interface MiniLane {
  readonly track: number;
  readonly lane: number;
}

const MOST = 6;

/** The lanes in which most time was spent executing, in their usual order. */
export function busiestLanes({ tracks }: Layout): readonly MiniLane[] {
  const all = tracks.flatMap(({ lanes }, track) =>
    lanes.map((lane) => ({ track, work: workIn(lane), isTransfers: lane.isTransfers })),
  );
  const counted = all.map((each, lane) => ({ ...each, lane })).filter(({ isTransfers }) => !isTransfers);
  const busiest = counted.sort((one, other) => other.work - one.work).slice(0, MOST);
  return busiest.sort((one, other) => one.lane - other.lane).map(({ track, lane }) => ({ track, lane }));
}

function workIn({ start, end }: { readonly start: Float64Array; readonly end: Float64Array }): number {
  let work = 0;
  for (let slice = 0; slice < start.length; slice++)
    work += (end[slice] as number) - (start[slice] as number);
  return work;
}
