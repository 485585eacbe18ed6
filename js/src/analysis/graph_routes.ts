// The lines of one open scope: within a column, from column to column, and back along the side.

import type { Route, RouteStep } from "../lib/shapes.ts";
import type { Edges, Layers } from "./graph_layout.ts";

/** The boxes of a scope, the edges between them, and which take from outside or give to it. */
export interface ScopeGraph {
  readonly count: number;
  readonly edges: Edges;
  readonly takes: Uint8Array;
  readonly gives: Uint8Array;
}

/** What stays while boxes open: their columns and ranks, and the order in each rank. */
export interface ScopePlan {
  readonly graph: ScopeGraph;
  readonly isBack: Uint8Array;
  readonly column: Int32Array;
  readonly columns: readonly PlanColumn[];
}

/** A column: its boxes, then the ports at its top and bottom, in layers. */
export interface PlanColumn {
  readonly boxes: readonly number[];
  readonly ports: readonly Port[];
  readonly layers: Layers;
  /** The route that each chain of the layers is a part of. */
  readonly pieces: readonly Piece[];
}

/** Where lines come into a column from elsewhere, or leave it. */
export interface Port {
  readonly isTop: boolean;
  /** The box that the tensor comes from, -1 if that is outside of the scope. */
  readonly source: number;
}

/** A chain of a column: of an edge, or of what a box takes from outside or gives to it. */
export interface Piece {
  readonly from: number;
  readonly to: number;
}

/** A line of a scope: from box to box, from a box to the outside, or from there to a box (-1). */
export interface ScopeLine {
  readonly from: number;
  readonly to: number;
  readonly isBack: boolean;
  readonly route: Route;
}

/** A column with its boxes and ports in their places. */
export interface PlacedColumn {
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  /** The points that each of its chains passes. */
  readonly points: readonly (readonly (readonly [x: number, y: number])[])[];
}

export const BOX_GAP = 22;
export const COLUMN_GAP = 40;
export const LANE = 7;
export const OUTSIDE = -1;

/** Where boxes are, and how large. */
interface Places {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly width: Float64Array;
  readonly height: Float64Array;
}

/** All lines; columns stand between `head` and `bottom`, and the scope ends at `total`. */
export function linesOf(
  plan: ScopePlan,
  placed: readonly PlacedColumn[],
  places: Places,
  { head, bottom, total }: Readonly<Record<"head" | "bottom" | "total", number>>,
): readonly ScopeLine[] {
  return [
    ...linesWithin(plan, placed, total),
    ...linesBetween(plan, placed, bottom, head),
    ...linesBack(plan, places),
  ];
}

/** A line that bends softly from point to point. */
function curve(points: readonly (readonly [x: number, y: number])[]): Route {
  const route: RouteStep[] = [];
  points.forEach(([x, y], at) => {
    const before = points[at - 1];
    if (!before) route.push(["M", x, y]);
    else if (Math.abs(before[0] - x) < 0.5) route.push(["L", x, y]);
    else {
      const half = (y - before[1]) / 2;
      route.push(["C", before[0], before[1] + half, x, y - half, x, y]);
    }
  });
  return route;
}

/** The lines that stay in a column, or leave the scope from there. */
function linesWithin({ columns }: ScopePlan, placed: readonly PlacedColumn[], bottom: number): ScopeLine[] {
  return columns.flatMap(({ pieces, layers, boxes, ports }, at) =>
    pieces.flatMap((piece, chain): ScopeLine[] => {
      const slots = layers.chains[chain] as Int32Array;
      const ends = [slots[0], slots.at(-1)].map((slot) => ports[(slot as number) - boxes.length]);
      if (ends.some((port) => port && port.source >= 0)) return [];
      const points = (placed[at] as PlacedColumn).points[chain] as readonly (readonly [number, number])[];
      const first = points[0] as readonly [number, number];
      const last = points.at(-1) as readonly [number, number];
      const begun = piece.from === OUTSIDE && first[1] > 0 ? ([[first[0], 0]] as const) : [];
      const ended = piece.to === OUTSIDE && last[1] < bottom ? ([[last[0], bottom]] as const) : [];
      return [{ ...piece, isBack: false, route: curve([...begun, ...points, ...ended]) }];
    }),
  );
}

/** The lines from column to column: down to the end of the one, up between the columns, and down into the other. */
function linesBetween(
  { columns }: ScopePlan,
  placed: readonly PlacedColumn[],
  bottom: number,
  top: number,
): ScopeLine[] {
  const leaving = new Map<
    number,
    { readonly route: Route; readonly lane: number; readonly column: number }
  >();
  let lanes = 0;
  columns.forEach(({ pieces, layers, boxes, ports }, column) => {
    pieces.forEach((piece, chain) => {
      const port = ports[((layers.chains[chain] as Int32Array).at(-1) as number) - boxes.length];
      if (!port || port.source < 0 || port.isTop) return;
      const points = (placed[column] as PlacedColumn).points[chain] as readonly (readonly [number, number])[];
      leaving.set(piece.from, { route: curve(points), lane: lanes++, column });
    });
  });
  return columns.flatMap(({ pieces, layers, boxes, ports }, column) =>
    pieces.flatMap((piece, chain): ScopeLine[] => {
      const slots = layers.chains[chain] as Int32Array;
      const port = ports[(slots[0] as number) - boxes.length];
      const begun = leaving.get(piece.from);
      if (!port || port.source < 0 || !begun) return [];
      const points = (placed[column] as PlacedColumn).points[chain] as readonly (readonly [number, number])[];
      const [start, out] = [
        placed[begun.column] as PlacedColumn,
        begun.route.at(-1) as readonly [string, ...number[]],
      ];
      const inner = [...leaving.values()].filter((each) => each.column === begun.column);
      const place = inner.findIndex(({ lane }) => lane === begun.lane);
      const x = out.at(-2) as number;
      const low = bottom + LANE * (place + 1);
      const across = start.right + COLUMN_GAP / 2 + LANE * (place - (inner.length - 1) / 2);
      const high = top - LANE * begun.lane;
      const [[into, down] = [0, 0]] = points;
      const route: Route = [
        ...begun.route.slice(0, 1),
        ...begun.route.slice(1),
        ...rounded([
          [x, out.at(-1) as number],
          [x, low],
          [across, low],
          [across, high],
          [into, high],
          [into, down],
        ]),
        ...curve(points).slice(1),
      ];
      return [{ ...piece, isBack: false, route }];
    }),
  );
}

/** Straight lines whose corners are round, without the first point. */
function rounded(points: readonly (readonly [x: number, y: number])[]): Route {
  const RADIUS = 10;
  const route: RouteStep[] = [];
  for (let at = 1; at < points.length; at++) {
    const [before, corner, after] = [points[at - 1], points[at], points[at + 1]] as [
      readonly [number, number],
      readonly [number, number],
      readonly [number, number] | undefined,
    ];
    if (!after) {
      route.push(["L", ...corner]);
      continue;
    }
    const toward = (end: readonly [number, number]): [number, number] => {
      const length = Math.hypot(end[0] - corner[0], end[1] - corner[1]);
      const part = length ? Math.min(RADIUS, length / 2) / length : 0;
      return [corner[0] + part * (end[0] - corner[0]), corner[1] + part * (end[1] - corner[1])];
    };
    route.push(["L", ...toward(before)], ["C", ...corner, ...corner, ...toward(after)]);
  }
  return route;
}

/** The lines that close a circle go along the right side. */
function linesBack({ graph: { edges }, isBack }: ScopePlan, { x, y, width, height }: Places): ScopeLine[] {
  const lines: ScopeLine[] = [];
  edges.from.forEach((from, edge) => {
    if (!isBack[edge]) return;
    const to = edges.to[edge] as number;
    const [right, end] = [from, to].map((box) => (x[box] as number) + (width[box] as number)) as [
      number,
      number,
    ];
    const [low, high] = [from, to].map((box) => (y[box] as number) + (height[box] as number) / 2) as [
      number,
      number,
    ];
    const far = Math.max(right, end) + BOX_GAP;
    lines.push({
      from,
      to,
      isBack: true,
      route: [
        ["M", right, low],
        ["C", far, low, far, high, end, high],
      ],
    });
  });
  return lines;
}
