// Paints what surrounds the slices: the marks of the time, the steps, and the names of devices and lanes.

import type { Layout, StepSpan } from "../../analysis/timeline_layout.ts";
import type { Palette } from "../../ui/canvas.ts";
import { AXIS_HEIGHT, headHeight, STEPS_HEIGHT } from "./rows.ts";
import { markDistance, markText } from "./time_axis.ts";
import type { Viewport } from "./viewport.ts";

/** The part of the canvas that shows time, in CSS pixels. */
export interface TimeArea {
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  readonly viewport: Viewport;
}

const MARK_ROOM = 86;
const LEAST_STEP = 20;

/** Where a time is, in CSS pixels. */
export function positionOf({ left, right, viewport }: TimeArea, time: number): number {
  return left + ((time - viewport.from) / (viewport.to - viewport.from)) * (right - left);
}

/** The lines that run down from the marks, behind the slices; they count from the start of each step. */
export function paintGrid(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  layout: Layout,
  palette: Palette,
): void {
  context.fillStyle = palette.groove;
  const top = headHeight(layout);
  for (const { x } of marks(plot, layout)) context.fillRect(x, top, 1, plot.bottom - top);
  context.fillStyle = palette.line;
  for (const step of layout.steps.slice(1)) {
    const x = Math.round(positionOf(plot, step.from)) - 1;
    if (x >= plot.left && x <= plot.right) context.fillRect(x, AXIS_HEIGHT, 1, plot.bottom - AXIS_HEIGHT);
  }
}

/** The line of times and, where there are several, the line of steps. */
export function paintHead(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  layout: Layout,
  palette: Palette,
  stepLabel: (step: number) => string,
): void {
  const height = headHeight(layout);
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, plot.right + 4, height);
  context.fillStyle = palette.line;
  context.fillRect(0, height - 1, plot.right + 4, 1);
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.font = `11px ${palette.font}`;
  context.fillStyle = palette.dim;
  for (const { x, text } of marks(plot, layout)) {
    context.fillRect(x, AXIS_HEIGHT - 5, 1, 4);
    if (x + 40 < plot.right) context.fillText(text, x + 3, AXIS_HEIGHT / 2);
  }
  if (layout.steps.length > 1)
    for (const step of layout.steps) paintStep(context, plot, step, palette, stepLabel);
}

function paintStep(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  { step, from, to }: StepSpan,
  palette: Palette,
  stepLabel: (step: number) => string,
): void {
  const left = Math.max(positionOf(plot, from), plot.left);
  const right = Math.min(positionOf(plot, to), plot.right);
  if (right <= left) return;
  context.fillStyle = palette.groove;
  context.fillRect(left, AXIS_HEIGHT, right - left, STEPS_HEIGHT - 3);
  const room = right - left - 6;
  if (room < LEAST_STEP) return;
  context.fillStyle = palette.dim;
  const label = stepLabel(step);
  const letters = Math.floor(room / 6);
  context.fillText(
    label.length > letters ? `${label.slice(0, letters - 1)}…` : label,
    left + 4,
    AXIS_HEIGHT + 7,
    room,
  );
}

interface TimeMark {
  readonly x: number;
  readonly text: string;
}

function marks(plot: TimeArea, { steps }: Layout): TimeMark[] {
  const { left, right, viewport } = plot;
  const distance = markDistance(viewport.to - viewport.from, (right - left) / MARK_ROOM);
  const found: TimeMark[] = [];
  for (const { from, to } of steps) {
    if (to < viewport.from || from > viewport.to) continue;
    const end = Math.min(to, viewport.to);
    for (let k = Math.max(Math.ceil((viewport.from - from) / distance), 0); from + k * distance <= end; k++) {
      found.push({
        x: Math.round(positionOf(plot, from + k * distance)),
        text: markText(k * distance, distance),
      });
    }
  }
  return withRoom(found);
}

/** A short step's marks would stand on one another's: those too near to the one before are left out. */
function withRoom(found: readonly TimeMark[]): TimeMark[] {
  const kept: TimeMark[] = [];
  for (const mark of found) {
    const last = kept.at(-1);
    if (!last || mark.x - last.x >= MARK_ROOM / 2) kept.push(mark);
  }
  return kept;
}
