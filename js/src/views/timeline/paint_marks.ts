// Paints what is marked: a range of time, and the frame around a slice.

import type { Palette } from "../../ui/canvas.ts";
import type { SlicePosition } from "./geometry.ts";
import type { SeenRow } from "./paint.ts";
import { positionOf, type TimeArea } from "./paint_axis.ts";
import { sliceHeight } from "./rows.ts";
import type { TimelineState } from "./state.ts";
import type { Viewport } from "./viewport.ts";

const SHADE = 0.14;
/** The shortest slice has a frame that is seen. */
const LEAST = 2;

/** Shade a range of time in all lanes. */
export function paintRange(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  range: Viewport | null,
  palette: Palette,
): void {
  const across = range && seenPart(plot, range);
  if (!across) return;
  context.globalAlpha = SHADE;
  context.fillStyle = palette.accent;
  context.fillRect(across.left, 0, across.right - across.left, plot.bottom);
  context.globalAlpha = 1;
}

/** Frame a slice if it is in this row. */
export function paintOutline(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  state: TimelineState,
  row: SeenRow,
  place: SlicePosition | null,
  { colour, thickness }: { readonly colour: string; readonly thickness: number },
): void {
  const across = place?.lane === row.lane ? seenPart(plot, state.spanOf(place)) : null;
  if (!across) return;
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.strokeRect(across.left - 0.5, row.y + 0.5, across.right - across.left + 1, sliceHeight(row) + 1);
}

function seenPart(plot: TimeArea, { from, to }: Viewport): { left: number; right: number } | null {
  if (to < plot.viewport.from || from > plot.viewport.to) return null;
  const left = Math.max(positionOf(plot, from), plot.left);
  return { left, right: Math.min(Math.max(positionOf(plot, to), left + LEAST), plot.right) };
}
