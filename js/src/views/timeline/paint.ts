// Paints the whole timeline into its canvas.

import type { Palette } from "../../ui/canvas.ts";
import { paintGrid, paintHead, type TimeArea } from "./paint_axis.ts";
import { paintLabel } from "./paint_labels.ts";
import { paintOutline, paintRange } from "./paint_marks.ts";
import { paintNames, paintSpans } from "./paint_slices.ts";
import { headHeight, type LaneRow, sliceHeight } from "./rows.ts";
import { addLaneSpans, Spans } from "./spans.ts";
import type { TimelineState } from "./state.ts";

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

/** Paints a timeline; it keeps its buffers from one painting to the next. */
export class Painter {
  private readonly runs = new Spans();
  private tops = new Int32Array(0);

  constructor(private readonly context: CanvasRenderingContext2D) {}

  paint(state: TimelineState, frame: CanvasSize, palette: Palette): void {
    const { context } = this;
    const { ratio, width, height, gutter } = frame;
    const layout = state.layout.value;
    const plot = { left: gutter, right: width, bottom: height, viewport: state.seen.value };
    const rows = seenRows(state, frame);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, width, height);
    paintGrid(context, plot, layout, palette);
    paintRange(context, plot, state.range.value, palette);
    this.paintLanes(state, rows, plot, ratio, palette);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const row of rows) paintLabel(context, plot, state, row, palette);
    for (const row of rows) {
      paintOutline(context, plot, state, row, state.hovered.value, { colour: palette.text, thickness: 1 });
      paintOutline(context, plot, state, row, state.current.value, { colour: palette.accent, thickness: 2 });
    }
    paintHead(context, plot, layout, palette, (step) => state.stepLabel(step));
  }

  private paintLanes(
    state: TimelineState,
    rows: readonly SeenRow[],
    plot: TimeArea,
    ratio: number,
    palette: Palette,
  ): void {
    const lanes = state.painted.value;
    const { step } = state.slices.value;
    const width = Math.round((plot.right - plot.left) * ratio);
    if (this.tops.length < lanes.length) this.tops = new Int32Array(lanes.length);
    this.runs.clear();
    let height = 0;
    for (const row of rows) {
      const painted = lanes[row.lane];
      if (!painted) continue;
      height = Math.round(sliceHeight(row) * ratio);
      this.tops[row.lane] = Math.round((row.y + 1) * ratio);
      addLaneSpans(this.runs, row.lane, painted, plot.viewport, width, step);
    }
    const ground = { left: Math.round(plot.left * ratio), tops: this.tops, height, ratio };
    paintSpans(this.context, this.runs, ground, palette);
    paintNames(this.context, this.runs, ground, palette, (lane, slice) => {
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
