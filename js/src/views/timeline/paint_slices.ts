// Paints what was planned of the lanes: slices, the gaps between them, and names where there is room.

import type { Palette } from "../../ui/canvas.ts";
import { transferPattern } from "../../ui/hatching.ts";
import { GAP, RECEDING, type Spans, TRANSFER } from "./spans.ts";

/** Where the lanes are: in pixels of the screen, of which a CSS pixel has `ratio`. */
export interface Ground {
  readonly left: number;
  /** The top of each lane, and the height of a slice in it. */
  readonly tops: Int32Array;
  readonly height: number;
  readonly ratio: number;
}

/** As much as leaves the names in it readable in both themes. */
const RECEDING_OPACITY = 0.22;
const LEAST_NAMED = 34;
const LETTER = 6.1;

/** Paint the runs, one colour after another. */
export function paintSpans(
  context: CanvasRenderingContext2D,
  runs: Spans,
  ground: Ground,
  palette: Palette,
): void {
  context.setTransform(1, 0, 0, 1, 0, 0);
  for (let colour = 0; colour < GAP; colour++) {
    context.globalAlpha = colour < RECEDING ? 1 : RECEDING_OPACITY;
    const tone = colour % RECEDING;
    context.fillStyle =
      tone === TRANSFER ? transferPattern(context, palette) : (palette.categories[tone] ?? palette.dim);
    fill(context, runs, colour, ground, 0, ground.height);
  }
  context.globalAlpha = 1;
  context.fillStyle = palette.line;
  const thickness = Math.max(Math.round(ground.ratio), 1);
  fill(context, runs, GAP, ground, Math.round((ground.height - thickness) / 2), thickness);
}

function fill(
  context: CanvasRenderingContext2D,
  runs: Spans,
  colour: number,
  { left, tops }: Ground,
  below: number,
  height: number,
): void {
  for (let run = 0; run < runs.length; run++) {
    if (runs.colour[run] !== colour) continue;
    const from = runs.left[run] as number;
    const top = tops[runs.lane[run] as number] as number;
    context.fillRect(left + from, top + below, (runs.right[run] as number) - from, height);
  }
}

/** Write the names of the slices that are wide enough. */
export function paintNames(
  context: CanvasRenderingContext2D,
  runs: Spans,
  { left, tops, height, ratio }: Ground,
  palette: Palette,
  nameOf: (lane: number, slice: number) => string,
): void {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = `11px ${palette.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (let run = 0; run < runs.length; run++) {
    const slice = runs.slice[run] as number;
    const width = ((runs.right[run] as number) - (runs.left[run] as number)) / ratio;
    if (slice < 0 || width < LEAST_NAMED) continue;
    const lane = runs.lane[run] as number;
    const room = width - 8;
    const name = shortened(nameOf(lane, slice), Math.floor(room / LETTER));
    const y = ((tops[lane] as number) + height / 2) / ratio + 0.5;
    const colour = runs.colour[run] as number;
    context.fillStyle = colour === TRANSFER ? palette.text : colour < RECEDING ? palette.ink : palette.dim;
    context.fillText(name, (left + (runs.left[run] as number)) / ratio + 4, y, room);
  }
}

function shortened(name: string, letters: number): string {
  return name.length <= letters ? name : `${name.slice(0, Math.max(letters - 1, 1))}…`;
}
