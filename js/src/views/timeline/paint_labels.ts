// Paints what stands at the left of the rows: a device's name and what it did, or a lane's name.

import type { Palette } from "../../ui/canvas.ts";
import { useText } from "./busy_text.ts";
import { laneLabel } from "./details.ts";
import type { SeenRow } from "./paint.ts";
import type { TimeArea } from "./paint_axis.ts";
import type { TimelineState } from "./state.ts";

const DEVICE_INDENT = 10;
const LANE_INDENT = 20;

/** Write a row's label. */
export function paintLabel(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  state: TimelineState,
  row: SeenRow,
  palette: Palette,
): void {
  context.textBaseline = "middle";
  context.textAlign = "left";
  if (row.lane < 0) paintDevice(context, plot, state, row, palette);
  else paintLaneName(context, plot, state, row, palette);
}

function paintLaneName(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  state: TimelineState,
  row: SeenRow,
  palette: Palette,
): void {
  const track = state.layout.value.tracks[row.track];
  const lane = state.lanes.value[row.lane];
  // The levels of a thread stand below its name.
  if (!track || !lane || ((track.hasThreads || lane.isTransfers) && lane.level > 0)) return;
  context.font = `11px ${palette.font}`;
  context.fillStyle = palette.dim;
  context.fillText(laneLabel(track, lane), LANE_INDENT, row.y + row.height / 2, plot.left - LANE_INDENT - 4);
}

function paintDevice(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  state: TimelineState,
  row: SeenRow,
  palette: Palette,
): void {
  const use = state.uses.value[row.track];
  if (!use) return;
  const middle = row.y + row.height / 2 + 1;
  const label = state.deviceName(use.device);
  context.font = `600 12px ${palette.font}`;
  context.fillStyle = palette.text;
  context.fillText(label, DEVICE_INDENT, middle);
  const left = Math.max(DEVICE_INDENT + context.measureText(label).width + 12, plot.left);
  const text = useText(use);
  context.font = `11px ${palette.font}`;
  context.fillStyle = palette.surface;
  context.fillRect(left, middle - 9, context.measureText(text).width + 6, 17);
  context.fillStyle = palette.dim;
  context.fillText(text, left, middle, plot.right - left - 8);
}
