// Paints the timeline: lanes, slices, their names and marks.

import { effect } from "@preact/signals";
import {
  addLaneSpans,
  GAP,
  PART,
  PARTS,
  RECEDING,
  Spans,
  TRANSFER,
  type Viewport,
} from "../../analysis/spans.ts";
import {
  lightPaletteOf,
  onAppearance,
  oncePerFrame,
  onPrint,
  type Palette,
  paletteOf,
  resize,
  transferPattern,
} from "../../ui/canvas.ts";
import {
  type CanvasSize,
  headHeight,
  heightOf,
  positionOf,
  type SeenRow,
  type SlicePosition,
  sliceHeight,
  type TimeArea,
} from "./geometry.ts";
import { paintGrid, paintHead, paintLabel } from "./paint_axis.ts";
import type { TimelineState } from "./state.ts";

/** Paints a timeline; it keeps its buffers from one painting to the next. */
class Painter {
  readonly #runs = new Spans();
  #tops = new Int32Array(0);
  #heights = new Int32Array(0);

  constructor(private readonly context: CanvasRenderingContext2D) {}

  paint(state: TimelineState, frame: CanvasSize, palette: Palette): void {
    const { context } = this;
    const { ratio, width, height, gutter } = frame;
    const layout = state.layout.value;
    const plot = { left: gutter, right: width, bottom: height, viewport: state.visibleTime.value };
    const rows = seenRows(state, frame);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, width, height);
    paintGrid(context, plot, layout, palette);
    paintRange(context, plot, state.range.value, palette);
    this.#paintLanes(state, rows, plot, ratio, palette);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const row of rows) paintLabel(context, plot, state, row, palette);
    for (const row of rows) {
      paintOutline(context, plot, state, row, state.hovered.value, { colour: palette.text, thickness: 1 });
      paintOutline(context, plot, state, row, state.current.value, { colour: palette.accent, thickness: 2 });
    }
    if (state.showsPath.value) paintPath(context, plot, state, frame, palette);
    paintArrows(context, plot, state, frame, palette);
    paintHead(context, plot, layout, palette, (step) => state.stepLabel(step));
  }

  #paintLanes(
    state: TimelineState,
    rows: readonly SeenRow[],
    plot: TimeArea,
    ratio: number,
    palette: Palette,
  ): void {
    const lanes = state.painted.value;
    const { step } = state.slices.value;
    const width = Math.round((plot.right - plot.left) * ratio);
    if (this.#tops.length < lanes.length) {
      this.#tops = new Int32Array(lanes.length);
      this.#heights = new Int32Array(lanes.length);
    }
    this.#runs.clear();
    for (const row of rows) {
      const painted = lanes[row.lane];
      if (!painted) continue;
      this.#heights[row.lane] = Math.round(sliceHeight(row) * ratio);
      this.#tops[row.lane] = Math.round((row.y + 1) * ratio);
      addLaneSpans(this.#runs, row.lane, painted, plot.viewport, width, step);
    }
    const ground = { left: Math.round(plot.left * ratio), tops: this.#tops, heights: this.#heights, ratio };
    paintSpans(this.context, this.#runs, ground, palette);
    paintNames(this.context, this.#runs, ground, palette, (lane, slice) => {
      const name = state.nameAt({ lane, slice });
      return name.slice(name.lastIndexOf("/") + 1);
    });
  }
}

function seenRows(state: TimelineState, { height, scrolled }: CanvasSize): readonly SeenRow[] {
  const head = headHeight(state.layout.value);
  const rows: SeenRow[] = [];
  for (const row of state.rows.value) {
    const y = head + row.top - scrolled;
    if (y + row.height > head && y < height) rows.push({ ...row, y });
  }
  return rows;
}

/** Where the lanes are: in pixels of the screen, of which a CSS pixel has `ratio`. */
interface Ground {
  readonly left: number;
  /** The top of each lane, and the height of a slice in it. */
  readonly tops: Int32Array;
  readonly heights: Int32Array;
  readonly ratio: number;
}

/** As much as leaves the names in it readable in both themes. */
const RECEDING_OPACITY = 0.22;
const LEAST_NAMED = 34;
const LETTER = 6.1;

/** Paint the runs, one colour after another; with a thickness as lines in the middle of their lanes. */
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
      tone === TRANSFER
        ? transferPattern(context, palette)
        : (palette.categories[tone] ?? palette.parts[tone - PART] ?? palette.dim);
    fill(context, runs, colour, ground);
  }
  context.globalAlpha = 1;
  context.fillStyle = palette.line;
  fill(context, runs, GAP, ground, Math.max(Math.round(ground.ratio), 1));
}

function fill(
  context: CanvasRenderingContext2D,
  runs: Spans,
  colour: number,
  { left, tops, heights }: Ground,
  thickness?: number,
): void {
  for (let run = 0; run < runs.length; run++) {
    if (runs.colour[run] !== colour) continue;
    const from = runs.left[run] as number;
    const lane = runs.lane[run] as number;
    const [top, whole] = [tops[lane] as number, heights[lane] as number];
    const height = thickness ?? whole;
    const below = Math.round((whole - height) / 2);
    context.fillRect(left + from, top + below, (runs.right[run] as number) - from, height);
  }
}

/** Write the names of the slices that are wide enough. */
function paintNames(
  context: CanvasRenderingContext2D,
  runs: Spans,
  { left, tops, heights, ratio }: Ground,
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
    const y = ((tops[lane] as number) + (heights[lane] as number) / 2) / ratio + 0.5;
    context.fillStyle = inkOn(palette, runs.colour[run] as number);
    context.fillText(name, (left + (runs.left[run] as number)) / ratio + 4, y, room);
  }
}

/** The colour of a name on a slice's colour. */
function inkOn(palette: Palette, colour: number): string {
  if (colour >= RECEDING) return palette.dim;
  if (colour === TRANSFER) return palette.text;
  if (colour < PART) return palette.ink;
  return PARTS[colour - PART] === "rest" ? palette.onRest : palette.onPart;
}

function shortened(name: string, letters: number): string {
  return name.length <= letters ? name : `${name.slice(0, Math.max(letters - 1, 1))}…`;
}

const SHADE = 0.14;
/** The shortest slice has a frame that is seen. */
const LEAST = 2;

/** Shade a range of time in all lanes. */
function paintRange(
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
function paintOutline(
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

/** Where the middle of a lane is in the canvas. */
function middleOf(state: TimelineState, { scrolled }: CanvasSize, lane: number): number {
  const row = state.rows.value.find((each) => each.lane === lane);
  return row ? headHeight(state.layout.value) + row.top - scrolled + row.height / 2 : 0;
}

/** The farthest beyond the edge of the plot that a line is drawn to. */
const BEYOND = 100;

/** Draw the critical path: a line along the lower edge of its slices, and from each to the next of its step. */
function paintPath(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  state: TimelineState,
  { scrolled }: CanvasSize,
  palette: Palette,
): void {
  const head = headHeight(state.layout.value);
  const edges = new Map(
    state.rows.value.map((row) => [row.lane, head + row.top - scrolled + sliceHeight(row)]),
  );
  const { step } = state.slices.value;
  const x = (time: number): number =>
    Math.min(Math.max(positionOf(plot, time), plot.left - BEYOND), plot.right + BEYOND);
  context.save();
  clipLanes(context, plot, head);
  context.strokeStyle = palette.warning;
  context.lineWidth = 2;
  context.beginPath();
  let [last, reached, height] = [-1, 0, 0];
  for (const place of state.path.value) {
    const { from, to } = state.spanOf(place);
    const [left, right, y] = [x(from), x(to), edges.get(place.lane) ?? 0];
    const of = step[state.executionAt(place)] as number;
    if (of !== last) context.moveTo(left, y);
    // What is shorter than a pixel adds nothing to the line.
    else if (y !== height || left - reached >= 1) context.lineTo(left, y);
    if (of !== last || y !== height || right - reached >= 1) {
      context.lineTo(right, y);
      reached = right;
    }
    [last, height] = [of, y];
  }
  context.stroke();
  context.restore();
}

/** Paint nothing but in the lanes. */
function clipLanes(context: CanvasRenderingContext2D, plot: TimeArea, head: number): void {
  context.beginPath();
  context.rect(plot.left, head, plot.right - plot.left, plot.bottom);
  context.clip();
}

const HEAD = 4;

/** Draw the arrows of the chosen slice: from the end of what makes a tensor to the start of what takes it. */
function paintArrows(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  state: TimelineState,
  frame: CanvasSize,
  palette: Palette,
): void {
  const arrows = state.arrows.value;
  if (!arrows.length) return;
  context.save();
  clipLanes(context, plot, headHeight(state.layout.value));
  context.strokeStyle = context.fillStyle = palette.accent;
  context.lineWidth = 1.2;
  for (const { source, target } of arrows) {
    const [made, taken] = [state.spanOf(source), state.spanOf(target)];
    const [left, right] = [positionOf(plot, Math.min(made.to, taken.from)), positionOf(plot, taken.from)];
    const [top, bottom] = [middleOf(state, frame, source.lane), middleOf(state, frame, target.lane)];
    const bend = Math.min(Math.max((right - left) / 2, 12), 60);
    context.beginPath();
    context.moveTo(left, top);
    context.bezierCurveTo(left + bend, top, right - bend, bottom, right, bottom);
    context.stroke();
    context.beginPath();
    context.moveTo(right, bottom);
    context.lineTo(right - 1.6 * HEAD, bottom - HEAD);
    context.lineTo(right - 1.6 * HEAD, bottom + HEAD);
    context.fill();
  }
  context.restore();
}

function seenPart(plot: TimeArea, { from, to }: Viewport): { left: number; right: number } | null {
  if (to < plot.viewport.from || from > plot.viewport.to) return null;
  const left = Math.max(positionOf(plot, from), plot.left);
  return { left, right: Math.min(Math.max(positionOf(plot, to), left + LEAST), plot.right) };
}

const WIDE_GUTTER = 92;
const NARROW_GUTTER = 64;
export const NARROW = 640;
// The text of a page, and dots to a pixel of it.
const PAPER_WIDTH = 660;
const PAPER_RATIO = 2;

/** How large what is seen of the lanes is now. */
export function canvasSizeOf(scroller: HTMLElement): CanvasSize {
  const { clientWidth: width, clientHeight: height, scrollTop: scrolled } = scroller;
  const ratio = scroller.ownerDocument.defaultView?.devicePixelRatio ?? 1;
  return { width, height, ratio, scrolled, gutter: width < NARROW ? NARROW_GUTTER : WIDE_GUTTER };
}

/** Keep the timeline painted; returns what ends this. */
export function paintOnChange(
  state: TimelineState,
  scroller: HTMLElement,
  canvas: HTMLCanvasElement,
): () => void {
  const context = canvas.getContext("2d", { alpha: false });
  if (!context) return () => {};
  const painter = new Painter(context);
  let palette: Palette | null = null;
  const painting = oncePerFrame(() => {
    const frame = canvasSizeOf(scroller);
    if (!frame.width || !frame.height) return;
    resize(canvas, frame.width, frame.height, frame.ratio);
    palette ??= paletteOf(canvas);
    painter.paint(state, frame, palette);
  });
  const unfollow = onAppearance(scroller, () => {
    palette = null;
    painting.ask();
  });
  const print = (): void => {
    const width = Math.min(scroller.clientWidth, PAPER_WIDTH);
    const height = headHeight(state.layout.value) + heightOf(state.rows.value);
    if (!width) return;
    resize(canvas, width, height, PAPER_RATIO);
    const frame = { width, height, ratio: PAPER_RATIO, scrolled: 0, gutter: WIDE_GUTTER };
    painter.paint(state, frame, lightPaletteOf(canvas));
  };
  const unprint = onPrint(print, painting.ask);
  scroller.addEventListener("scroll", painting.ask, { passive: true });
  const end = effect(() => {
    for (const each of [
      state.visibleTime,
      state.painted,
      state.rows,
      state.uses,
      state.hovered,
      state.current,
      state.range,
      state.arrows,
      state.showsPath,
    ])
      void each.value;
    painting.ask();
  });
  return () => {
    end();
    unfollow();
    unprint();
    scroller.removeEventListener("scroll", painting.ask);
    painting.cancel();
  };
}
