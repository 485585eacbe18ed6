// The pattern of transfers: hatched, so that it is told from all colours whoever looks.

import type { Palette } from "./canvas.ts";

const WIDTH = 7;
const patterns = new WeakMap<Palette, CanvasPattern>();

/** The pattern in a palette's colours; plain where a canvas has none. */
export function transferPattern(context: CanvasRenderingContext2D, palette: Palette): CanvasPattern | string {
  const pattern = patterns.get(palette) ?? drawn(context, palette);
  if (pattern) patterns.set(palette, pattern);
  return pattern ?? palette.transfer;
}

function drawn(context: CanvasRenderingContext2D, palette: Palette): CanvasPattern | null {
  const tile = context.canvas.ownerDocument.createElement("canvas");
  tile.width = tile.height = WIDTH;
  const stroke = tile.getContext("2d");
  if (!stroke) return null;
  stroke.fillStyle = palette.surface;
  stroke.fillRect(0, 0, WIDTH, WIDTH);
  stroke.globalAlpha = 0.25;
  stroke.fillStyle = palette.transfer;
  stroke.fillRect(0, 0, WIDTH, WIDTH);
  stroke.globalAlpha = 0.6;
  stroke.strokeStyle = palette.transfer;
  stroke.lineWidth = 1.2;
  for (const shift of [-WIDTH, 0, WIDTH]) {
    stroke.moveTo(shift - 1, WIDTH + 1);
    stroke.lineTo(shift + WIDTH + 1, -1);
  }
  stroke.stroke();
  return context.createPattern(tile, "repeat");
}
