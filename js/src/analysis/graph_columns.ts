// Where the boxes of one open scope stand: layers from above to below, in as many columns side by side as fit the screen.

import type { Route, RouteStep } from "../lib/shapes.ts";
import { type Edges, layersOf, middlesOf, ranksOf } from "./graph_layout.ts";

/** The boxes of a scope, the edges between them, and which take from outside or give to it. */
export interface ScopeGraph {
  readonly count: number;
  readonly edges: Edges;
  readonly takes: Uint8Array;
  readonly gives: Uint8Array;
}

/** How large boxes are while they are closed, and how much room there is. */
export interface Room {
  readonly boxWidth: number;
  readonly boxHeight: number;
  readonly width: number;
  readonly height: number;
}

/** What stays while boxes open: their columns and ranks, and the order in each rank. */
export interface ScopePlan {
  readonly graph: ScopeGraph;
  readonly isBack: Uint8Array;
  readonly column: Int32Array;
  readonly columns: readonly PlanColumn[];
}

/** A column: its boxes, then the ports at its top and bottom, in layers. */
interface PlanColumn {
  readonly boxes: readonly number[];
  readonly ports: readonly Port[];
  readonly layers: ReturnType<typeof layersOf>;
  /** The route that each chain of the layers is a part of. */
  readonly pieces: readonly Piece[];
}

/** Where lines come into a column from elsewhere, or leave it. */
interface Port {
  readonly isTop: boolean;
  /** The box that the tensor comes from, -1 if that is outside of the scope. */
  readonly source: number;
}

/** A chain of a column: of an edge, or of what a box takes from outside or gives to it. */
interface Piece {
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

/** The boxes of a scope in their places, from 0 on. */
export interface PlacedScope {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly width: number;
  readonly height: number;
  readonly lines: readonly ScopeLine[];
}

const GAP = 22;
const RANK_GAP = 26;
const PORT_GAP = 12;
const COLUMN_GAP = 40;
const LANE = 7;
const MOST_COLUMNS = 12;
const OUTSIDE = -1;

/** The plan of a scope: more columns where that shows it larger. */
export function planOf(graph: ScopeGraph, room: Room): ScopePlan {
  const { count, edges } = graph;
  const { rank, isBack } = ranksOf(count, edges);
  const isLoose = looseBoxes(graph);
  const last = Array.from(rank).reduce((most, each, box) => (isLoose[box] ? most : Math.max(most, each)), -1);
  // What nothing leads to or from stands behind all others, one below the other.
  let free = last + 1;
  for (let box = 0; box < count; box++) if (isLoose[box]) rank[box] = free++;
  const breaks = bestBreaks(rank, free, last + 1, edges, isBack, room);
  const columnOf = new Int32Array(free);
  for (const start of breaks)
    for (let each = start; each < free; each++) columnOf[each] = (columnOf[each] as number) + 1;
  const column = rank.map((each) => columnOf[each] as number);
  const columns = Array.from({ length: breaks.length + 1 }, (_, at) =>
    planColumn(at, graph, rank, column, isBack),
  );
  return { graph, isBack, column, columns };
}

function looseBoxes({ count, edges, takes, gives }: ScopeGraph): Uint8Array {
  const isLoose = new Uint8Array(count).fill(1);
  for (const box of [...edges.from, ...edges.to]) isLoose[box] = 0;
  return isLoose.map((flag, box) => (takes[box] || gives[box] ? 0 : flag));
}

/** The ranks at which columns begin, but for the first: those that need the least shrinking. */
function bestBreaks(
  rank: Int32Array,
  count: number,
  drawn: number,
  edges: Edges,
  isBack: Uint8Array,
  { boxWidth, boxHeight, width, height }: Room,
): readonly number[] {
  const across = new Int32Array(count);
  for (const each of rank) across[each] = (across[each] as number) + 1;
  const cut = crossedAt(rank, count, edges, isBack);
  let [best, largest] = [[] as number[], 0];
  const loose = drawn > 0 && drawn < count ? [drawn] : [];
  for (let columns = 1; columns <= MOST_COLUMNS; columns++) {
    const breaks = [...new Set([...breaksInto(columns, drawn, cut), ...loose])];
    if (loose.length)
      breaks.push(
        ...breaksInto(Math.ceil(((count - drawn) / drawn) * columns), count - drawn, null).map(
          (at) => at + drawn,
        ),
      );
    const starts = [0, ...breaks, count];
    let [whole, tallest] = [-COLUMN_GAP, 0];
    for (let at = 1; at < starts.length; at++) {
      const ranks = across.subarray(starts[at - 1], starts[at]);
      whole += Math.max(...ranks, 0) * (boxWidth + GAP) - GAP + COLUMN_GAP;
      tallest = Math.max(tallest, ranks.length * (boxHeight + RANK_GAP));
    }
    const scale = Math.min(1, width / whole, height / tallest);
    if (scale > largest * 1.04) [best, largest] = [breaks, scale];
  }
  return best.sort((one, other) => one - other);
}

/** How many sources have edges across the beginning of each rank. */
function crossedAt(rank: Int32Array, count: number, { from, to }: Edges, isBack: Uint8Array): Int32Array {
  const farthest = new Int32Array(rank.length).fill(-1);
  from.forEach((source, edge) => {
    if (!isBack[edge])
      farthest[source] = Math.max(farthest[source] as number, rank[to[edge] as number] as number);
  });
  const crossed = new Int32Array(count + 1);
  farthest.forEach((far, box) => {
    for (let at = (rank[box] as number) + 1; at <= far; at++) crossed[at] = (crossed[at] as number) + 1;
  });
  return crossed;
}

/** The beginnings of columns of about the same length, where few edges are cut through. */
function breaksInto(columns: number, count: number, cut: Int32Array | null): number[] {
  const found: number[] = [];
  for (let column = 1; column < columns; column++) {
    const wanted = (column * count) / columns;
    const reach = count / columns / 4;
    let best = -1;
    for (let at = Math.ceil(wanted - reach); at <= wanted + reach || best < 0; at++) {
      if (at <= (found.at(-1) ?? 0) || at >= count) {
        if (at >= count) break;
        continue;
      }
      const cost = (each: number): number => 4 * (cut?.[each] ?? 0) + Math.abs(each - wanted) / (reach + 1);
      if (best < 0 || cost(at) < cost(best)) best = at;
    }
    if (best > 0) found.push(best);
  }
  return found;
}

/** The layers of one column. */
function planColumn(
  at: number,
  { count, edges, takes, gives }: ScopeGraph,
  rank: Int32Array,
  column: Int32Array,
  isBack: Uint8Array,
): PlanColumn {
  const boxes = Array.from({ length: count }, (_, box) => box).filter((box) => column[box] === at);
  const local = new Map(boxes.map((box, place) => [box, place]));
  const first = boxes.reduce((least, box) => Math.min(least, rank[box] as number), Number.POSITIVE_INFINITY);
  const ranks = boxes.map((box) => (rank[box] as number) - first + 1);
  const bottom = Math.max(...ranks) + 1;
  const [from, to, pieces, ports]: [number[], number[], Piece[], Port[]] = [[], [], [], []];
  const known = new Map<string, number>();
  const port = (isTop: boolean, source: number, key: string): number => {
    const name = `${isTop} ${key}`;
    const found = known.get(name) ?? boxes.length + ports.push({ isTop, source }) - 1;
    known.set(name, found);
    return found;
  };
  const piece = (source: number, target: number, each: Piece): void => {
    from.push(source);
    to.push(target);
    pieces.push(each);
  };
  const left = new Set<number>();
  edges.from.forEach((source, edge) => {
    const target = edges.to[edge] as number;
    if (isBack[edge]) return;
    const [start, end] = [local.get(source), local.get(target)];
    const each = { from: source, to: target };
    if (start !== undefined && end !== undefined) piece(start, end, each);
    else if (start !== undefined && !left.has(source)) {
      left.add(source);
      piece(start, port(false, source, `${source}`), { from: source, to: OUTSIDE });
    } else if (end !== undefined) piece(port(true, source, `${source}`), end, each);
  });
  boxes.forEach((box, place) => {
    if (takes[box]) piece(port(true, OUTSIDE, `in ${box}`), place, { from: OUTSIDE, to: box });
    if (gives[box]) piece(place, port(false, OUTSIDE, `out ${box}`), { from: box, to: OUTSIDE });
  });
  const all = Int32Array.from([...ranks, ...ports.map(({ isTop }) => (isTop ? 0 : bottom))]);
  const layers = layersOf(all, { from: Int32Array.from(from), to: Int32Array.from(to) });
  return { boxes, ports, layers, pieces };
}

/** A column with its boxes and ports in their places. */
interface PlacedColumn {
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  /** The points that each of its chains passes. */
  readonly points: readonly (readonly (readonly [x: number, y: number])[])[];
}

/** The boxes in their places, each as large as it is now. */
export function placedScope(plan: ScopePlan, width: Float64Array, height: Float64Array): PlacedScope {
  const { graph, columns } = plan;
  const [x, y] = [new Float64Array(graph.count), new Float64Array(graph.count)];
  const lanes = columns.map(
    ({ ports }) =>
      new Set(ports.filter((each) => !each.isTop && each.source >= 0).map((each) => each.source)).size,
  );
  const allLanes = lanes.reduce((sum, each) => sum + each, 0);
  const top = allLanes * LANE;
  const head = top + (columns.some(({ ports }) => ports.some(({ isTop }) => isTop)) ? RANK_GAP : 0);
  let left = 0;
  const placed = columns.map((column, at): PlacedColumn => {
    const found = placeColumn(column, left, head, width, height, x, y);
    left = found.right + COLUMN_GAP + LANE * (lanes[at] as number);
    return found;
  });
  const bottom = Math.max(head, ...placed.map((each) => each.bottom));
  const whole = placed.at(-1)?.right ?? 0;
  const total = bottom + LANE * Math.max(0, ...lanes);
  const lines = [
    ...linesWithin(plan, placed, total),
    ...linesBetween(plan, placed, bottom, top),
    ...linesBack(plan, x, y, width, height),
  ];
  return { x, y, width: whole, height: total, lines };
}

function placeColumn(
  { boxes, ports, layers }: PlanColumn,
  left: number,
  head: number,
  width: Float64Array,
  height: Float64Array,
  x: Float64Array,
  y: Float64Array,
): PlacedColumn {
  const sizes = Float64Array.from([...boxes.map((box) => width[box] as number), ...ports.map(() => 0)]);
  const middle = middlesOf(layers, sizes, GAP);
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  middle.forEach((each, slot) => {
    const half = (sizes[slot] ?? 0) / 2;
    least = Math.min(least, each - half);
    most = Math.max(most, each + half);
  });
  const shift = left - least;
  // A rank is as high as its highest box; those of ports alone have no height.
  const [start, end] = [new Float64Array(layers.ranks.length), new Float64Array(layers.ranks.length)];
  start[0] = end[0] = head - RANK_GAP;
  let next = head;
  layers.ranks.forEach((slots, rank) => {
    if (!rank) return;
    const highest = slots.reduce(
      (tallest, slot) => Math.max(tallest, boxes[slot] === undefined ? 0 : (height[boxes[slot]] as number)),
      0,
    );
    if (rank > 1 && highest > 0) next += RANK_GAP;
    start[rank] = next;
    next += highest;
    end[rank] = next;
  });
  const hasBottom = ports.some(({ isTop }) => !isTop);
  if (hasBottom) {
    next += PORT_GAP;
    start[start.length - 1] = end[end.length - 1] = next;
  }
  boxes.forEach((box, place) => {
    x[box] = (middle[place] as number) + shift - (width[box] as number) / 2;
    y[box] = start[layers.rank[place] as number] as number;
  });
  const points = layers.chains.map((chain) =>
    Array.from(chain).flatMap((slot, step): (readonly [number, number])[] => {
      const at = (middle[slot] as number) + shift;
      const rank = layers.rank[slot] as number;
      const box = boxes[slot];
      if (box !== undefined) {
        return [
          [at, step === 0 ? (start[rank] as number) + (height[box] as number) : (start[rank] as number)],
        ];
      }
      if (slot < sizes.length) return [[at, start[rank] as number]];
      return [
        [at, start[rank] as number],
        [at, end[rank] as number],
      ];
    }),
  );
  return { left, right: left + most - least, bottom: next, points };
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
function linesBack(
  { graph: { edges }, isBack }: ScopePlan,
  x: Float64Array,
  y: Float64Array,
  width: Float64Array,
  height: Float64Array,
): ScopeLine[] {
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
    const far = Math.max(right, end) + GAP;
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
