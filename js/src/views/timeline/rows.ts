// The rows of the timeline from top to bottom: a line a device, and below it its lanes.

import type { Layout } from "../../analysis/timeline_layout.ts";

/** A row; `lane` counts over all devices, -1 for a device's own line. */
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
export const AXIS_HEIGHT = 22;
export const STEPS_HEIGHT = 16;
const DEVICE_HEIGHT = 26;
const SPACE = 6;

/** The rows, the first at the top of the lanes' own space. */
export function rowsOf(layout: Layout): readonly LaneRow[] {
  const rows: LaneRow[] = [];
  const count = layout.tracks.reduce((sum, { lanes }) => sum + lanes.length, 0);
  const height = HEIGHTS.find(([most]) => count <= most)?.[1] ?? LOW;
  let [top, lane] = [0, 0];
  layout.tracks.forEach(({ lanes }, track) => {
    rows.push({ track, lane: -1, top, height: DEVICE_HEIGHT });
    top += DEVICE_HEIGHT;
    for (const _ of lanes) {
      rows.push({ track, lane, top, height });
      top += height;
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
