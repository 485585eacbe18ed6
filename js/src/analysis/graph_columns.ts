// Where the boxes of one open scope stand: layers from above to below, in as many columns side by side as fit the screen.

import { middlesOf } from "./graph_alignment.ts";
import { type Edges, layersOf, ranksOf } from "./graph_layout.ts";
import {
  BOX_GAP,
  COLUMN_GAP,
  LANE,
  linesOf,
  OUTSIDE,
  type Piece,
  type PlacedColumn,
  type PlanColumn,
  type Port,
  type ScopeGraph,
  type ScopeLine,
  type ScopePlan,
} from "./graph_routes.ts";

/** How large boxes are while they are closed, and how much room there is. */
export interface Room {
  readonly boxWidth: number;
  readonly boxHeight: number;
  readonly width: number;
  readonly height: number;
}

/** The boxes of a scope in their places, from 0 on. */
export interface PlacedScope {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly width: number;
  readonly height: number;
  readonly lines: readonly ScopeLine[];
}

const RANK_GAP = 26;
const PORT_GAP = 12;
const MOST_COLUMNS = 12;

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
      whole += Math.max(...ranks, 0) * (boxWidth + BOX_GAP) - BOX_GAP + COLUMN_GAP;
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

/** The boxes in their places, each as large as it is now. */
export function placedScope(plan: ScopePlan, width: Float64Array, height: Float64Array): PlacedScope {
  const { graph, columns } = plan;
  if (!graph.count) return { x: new Float64Array(0), y: new Float64Array(0), width: 0, height: 0, lines: [] };
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
  const lines = linesOf(plan, placed, { x, y, width, height }, { head: top, bottom, total });
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
  const middle = middlesOf(layers, sizes, BOX_GAP);
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
