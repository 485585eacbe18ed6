// Paints the axis of times, the steps and the labels of lanes.

import { laneLabel, type StepSpan } from "../../analysis/lanes.ts";
import type { Layout } from "../../analysis/timeline_layout.ts";
import type { Palette } from "../../ui/canvas.ts";
import { useText } from "./details.ts";
import {
  AXIS_HEIGHT,
  headHeight,
  positionOf,
  type SeenRow,
  STEPS_HEIGHT,
  type TimeArea,
} from "./geometry.ts";
import type { TimelineState } from "./state.ts";

const MARK_ROOM = 86;
const LEAST_STEP = 20;

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

function marks(plot: TimeArea, { axis }: Layout): TimeMark[] {
  const { left, right, viewport } = plot;
  const distance = markDistance(viewport.to - viewport.from, (right - left) / MARK_ROOM);
  const found: TimeMark[] = [];
  for (const { from, to } of axis) {
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
  if (!track || !lane || ((track.hasThreads || lane.isTransfers || lane.context) && lane.level > 0)) return;
  context.font = `11px ${palette.font}`;
  context.fillStyle = palette.dim;
  const indent = lane.context ? DEVICE_INDENT : LANE_INDENT;
  context.fillText(laneLabel(track, lane), indent, row.y + row.height / 2, plot.left - indent - 4);
}

function paintDevice(
  context: CanvasRenderingContext2D,
  plot: TimeArea,
  state: TimelineState,
  row: SeenRow,
  palette: Palette,
): void {
  const use = state.useOfTrack(row.track);
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

const UNITS: readonly (readonly [nanos: number, unit: string])[] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** The distance of marks, 1, 2 or 5 times a power of ten, so that at most `most` fit into a length. */
export function markDistance(length: number, most: number): number {
  const least = length / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

/** A mark's time, as exact as the distance of the marks: 1.25 ms among marks 0.05 ms apart. */
export function markText(nanos: number, distance: number): string {
  if (nanos === 0) return "0";
  const [size, unit] = UNITS.find(([each]) => nanos >= each) ?? [1, "ns"];
  const places = Math.max(Math.ceil(-Math.log10(distance / size) - 1e-9), 0);
  return `${(nanos / size).toFixed(places)} ${unit}`;
}
