// What to paint of a lane: one pass over its visible slices, and of each pixel its dominant colour, not a blend.

import { CATEGORIES } from "../data/chart_words.ts";
import type { Profile } from "../data/profile.ts";
import { ROLES } from "../engine/layers.ts";
import { firstAbove, type Lane } from "./lanes.ts";
import { categoryOf } from "./op_categories.ts";
import type { Layout, Slices } from "./timeline_layout.ts";

/** From one time to another, in nanoseconds of the layout. */
export interface Viewport {
  readonly from: number;
  readonly to: number;
}

/** The colour of transfers, after those of the categories. */
export const TRANSFER = CATEGORIES.length;
/** What cells and steps are made of, in the words of the overview, which has the same colours for them. */
export const PARTS = ["forward", "backward", "update", "input", "python", "first", "tfprof", "rest"] as const;
/** The colour of the first of these; then come the others. */
export const PART = TRANSFER + 1;
/** The colours of slices that are highlighted, and of those that recede; the category counts within each. */
export const RECEDING = PART + PARTS.length;
const COLOURS = 2 * RECEDING;
/** The colour of the time between two slices. */
export const GAP = COLOURS;

/** From how many pixels on a slice is parted from the next, and a gap is marked. */
const PARTED = 4;
const SHOWN_GAP = 5;
/** What took no time at all is seen too. */
const LEAST_WEIGHT = 1e-9;

/** Spans of pixels in a colour, from `left` up to `right`; `slice` is -1 where a run stands for many short ones, or a gap. */
export class Spans {
  left = new Int32Array(4096);
  right = new Int32Array(4096);
  lane = new Int32Array(4096);
  slice = new Int32Array(4096);
  colour = new Uint8Array(4096);
  length = 0;

  clear(): void {
    this.length = 0;
  }

  /** Add a run of a lane. Pixels of short slices continue the run before where that has their colour. */
  add(left: number, right: number, lane: number, slice: number, colour: number): void {
    const last = this.length - 1;
    if (slice < 0 && last >= 0 && this.#continues(last, left, lane, colour)) {
      this.right[last] = right;
      return;
    }
    if (this.length === this.left.length) this.#grow();
    this.left[this.length] = left;
    this.right[this.length] = right;
    this.lane[this.length] = lane;
    this.slice[this.length] = slice;
    this.colour[this.length] = colour;
    this.length += 1;
  }

  #continues(last: number, left: number, lane: number, colour: number): boolean {
    return (
      this.right[last] === left &&
      this.colour[last] === colour &&
      this.lane[last] === lane &&
      (this.slice[last] as number) < 0
    );
  }

  #grow(): void {
    const size = this.left.length * 2;
    this.left = enlarged(this.left, size);
    this.right = enlarged(this.right, size);
    this.lane = enlarged(this.lane, size);
    this.slice = enlarged(this.slice, size);
    const colour = new Uint8Array(size);
    colour.set(this.colour);
    this.colour = colour;
  }
}

function enlarged(column: Int32Array<ArrayBuffer>, size: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(size);
  larger.set(column);
  return larger;
}

/** A lane, and the colour of each of its slices. */
export interface PaintedLane {
  readonly lane: Lane;
  readonly colour: Uint8Array;
}

/** Add what is seen of a lane to the runs, for `width` pixels. `step` tells in which step an execution was. */
export function addLaneSpans(
  runs: Spans,
  number: number,
  { lane: { start, end, execution, context }, colour }: PaintedLane,
  viewport: Viewport,
  width: number,
  step: Int32Array,
): void {
  const { from: seenFrom, to: seenTo } = viewport;
  const scale = width / (seenTo - seenFrom);
  const onePixel = 1 / scale;
  const weight = new Float64Array(COLOURS);
  const isOneStep = (slice: number): boolean =>
    !context && slice > 0 && step[execution[slice] as number] === step[execution[slice - 1] as number];
  let pixel = -1; // the one whose colour is not decided yet
  let free = 0; // the first one that nothing covers yet
  let slice = firstAbove(end, seenFrom);
  for (; slice < start.length; slice++) {
    const from = start[slice] as number;
    if (from >= seenTo) break;
    const time = (end[slice] as number) - from;
    if (time < onePixel) {
      const at = Math.max(((from - seenFrom) * scale) | 0, free);
      if (at !== pixel) {
        if (pixel >= 0) free = decide(runs, pixel, number, weight);
        pixel = Math.max(at, free);
        if (pixel - free >= SHOWN_GAP && isOneStep(slice)) runs.add(free, pixel, number, -1, GAP);
      }
      const tone = colour[slice] as number;
      weight[tone] = (weight[tone] as number) + time + LEAST_WEIGHT;
    } else {
      if (pixel >= 0) free = decide(runs, pixel, number, weight);
      pixel = -1;
      const left = Math.max(Math.round((from - seenFrom) * scale), free);
      const right = Math.min(Math.max(Math.round((from + time - seenFrom) * scale), left + 1), width);
      if (left - free >= SHOWN_GAP && isOneStep(slice)) runs.add(free, left, number, -1, GAP);
      const parted = right - left >= PARTED ? right - 1 : right;
      if (left < parted) runs.add(left, parted, number, slice, colour[slice] as number);
      free = Math.max(right, free);
    }
  }
  if (pixel >= 0) free = decide(runs, pixel, number, weight);
  if (slice < start.length && width - free >= SHOWN_GAP && isOneStep(slice))
    runs.add(free, width, number, -1, GAP);
}

/** Add a pixel in its dominant colour; returns the next pixel. */
function decide(runs: Spans, pixel: number, lane: number, weight: Float64Array): number {
  runs.add(pixel, pixel + 1, lane, -1, dominant(weight));
  weight.fill(0);
  return pixel + 1;
}

/** The colour that covers most of a pixel, among those that are highlighted if there are any. */
function dominant(weight: Float64Array): number {
  for (let first = 0; first < COLOURS; first += RECEDING) {
    let best = first;
    for (let colour = first + 1; colour < first + RECEDING; colour++) {
      if ((weight[colour] as number) > (weight[best] as number)) best = colour;
    }
    if ((weight[best] as number) > 0) return best;
  }
  return 0;
}

/** The colour of a role, by its place among the engine's. */
export function colourOfRole(role: number): number {
  if (role === ROLES.indexOf("transfers")) return TRANSFER;
  return role >= 0 && role < ROLES.length ? PART + role : PART + PARTS.indexOf("rest");
}

/**
 * The lanes of a layout, device by device, with their colours: by the role of the node if `roles` are given, else by
 * what its op type does. Nodes that are not `highlighted` recede, or else executions with `slack`; what stands above the
 * devices never does.
 */
export function paintedLanes(
  { nodes }: Pick<Profile, "nodes">,
  executions: Pick<Slices, "node">,
  layout: Layout,
  highlighted: Uint8Array | null,
  roles: Int32Array | null = null,
  slack: Int32Array | null = null,
): PaintedLane[] {
  const categories = nodes.ops.map(categoryOf);
  const ofNode = Uint8Array.from(nodes.op, (op, node) => {
    const category = roles ? colourOfRole(roles[node] as number) : (categories[op] ?? categoryOf(""));
    return highlighted && !highlighted[node] ? category + RECEDING : category;
  });
  return layout.tracks.flatMap(({ lanes }) =>
    lanes.map((lane) => {
      const colour = new Uint8Array(lane.execution.length);
      for (let slice = 0; slice < colour.length; slice++) {
        if (lane.context) {
          colour[slice] = lane.context.colour(lane.execution[slice] as number);
          continue;
        }
        if (lane.isTransfers) {
          const node = executions.node[lane.execution[slice] as number] as number;
          colour[slice] = highlighted && !highlighted[node] ? TRANSFER + RECEDING : TRANSFER;
          continue;
        }
        const row = lane.execution[slice] as number;
        const isLoose = !highlighted && (slack?.[row] ?? 0) > 0;
        colour[slice] = (ofNode[executions.node[row] as number] as number) + (isLoose ? RECEDING : 0);
      }
      return { lane, colour };
    }),
  );
}
