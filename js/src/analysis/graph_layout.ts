// A layered layout on typed arrays: ranks by the longest path, and in each rank an order with few crossings, by barycentres.

/** Edges by the places of the boxes that they go from and to. */
export interface Edges {
  readonly from: Int32Array;
  readonly to: Int32Array;
}

/** Slots in ranks: first the boxes, then a bend for each rank that an edge passes. */
export interface Layers {
  readonly rank: Int32Array;
  /** The slots of each rank, as they stand from left to right. */
  readonly ranks: readonly Int32Array[];
  /** The slots that each edge passes, from the first to the last. */
  readonly chains: readonly Int32Array[];
}

const SWEEPS = 6;
/** The rank of each box, and a flag an edge that closes a circle and goes back; each box is as deep as it can be. */
export function ranksOf(count: number, edges: Edges): { rank: Int32Array; isBack: Uint8Array } {
  const out = edgesBy(count, edges.from);
  const isBack = backEdges(count, edges, out);
  const rank = new Int32Array(count);
  const waiting = new Int32Array(count);
  edges.to.forEach((to, edge) => {
    if (!isBack[edge]) addTo(waiting, to, 1);
  });
  const order = new Int32Array(count);
  let met = 0;
  for (let box = 0; box < count; box++) if (!waiting[box]) order[met++] = box;
  const isSource = waiting.map((each) => (each ? 0 : 1));
  for (let next = 0; next < met; next++) {
    const box = order[next] as number;
    for (let at = out.start[box] as number; at < (out.start[box + 1] as number); at++) {
      const edge = out.values[at] as number;
      if (isBack[edge]) continue;
      const to = edges.to[edge] as number;
      rank[to] = Math.max(rank[to] as number, (rank[box] as number) + 1);
      addTo(waiting, to, -1);
      if (!waiting[to]) order[met++] = to;
    }
  }
  lower(rank, isSource, edges, isBack);
  return { rank, isBack };
}

/** What nothing leads to stands right above the first that takes it. */
function lower(rank: Int32Array, isSource: Int32Array, { from, to }: Edges, isBack: Uint8Array): void {
  const first = new Int32Array(rank.length).fill(2 ** 30);
  from.forEach((source, edge) => {
    if (isBack[edge]) return;
    first[source] = Math.min(first[source] as number, rank[to[edge] as number] as number);
  });
  for (let box = 0; box < rank.length; box++) {
    if (isSource[box] && (first[box] as number) < 2 ** 30) rank[box] = (first[box] as number) - 1;
  }
}

/** The edges that lead back into the path on which they are met, in depth first. */
function backEdges(count: number, { from, to }: Edges, out: ReturnType<typeof edgesBy>): Uint8Array {
  const isBack = new Uint8Array(from.length);
  const state = new Uint8Array(count); // 1 while it is on the path, 2 afterwards
  const next = out.start.slice();
  const hasSource = new Uint8Array(count);
  for (const box of to) hasSource[box] = 1;
  const path: number[] = [];
  const walk = (root: number): void => {
    if (state[root]) return;
    path.push(root);
    state[root] = 1;
    while (path.length) {
      const box = path[path.length - 1] as number;
      const at = next[box] as number;
      if (at === out.start[box + 1]) {
        state[box] = 2;
        path.pop();
        continue;
      }
      next[box] = at + 1;
      const edge = out.values[at] as number;
      const target = to[edge] as number;
      if (state[target] === 1) isBack[edge] = 1;
      else if (!state[target]) {
        state[target] = 1;
        path.push(target);
      }
    }
  };
  for (let box = 0; box < count; box++) if (!hasSource[box]) walk(box);
  for (let box = 0; box < count; box++) walk(box);
  return isBack;
}

/** The edges of each box, by their ends in a column. */
export function edgesBy(count: number, ends: Int32Array): { start: Int32Array; values: Int32Array } {
  const start = new Int32Array(count + 1);
  for (const box of ends) addTo(start, box + 1, 1);
  for (let box = 0; box < count; box++) addTo(start, box + 1, start[box] as number);
  const [next, values] = [start.slice(), new Int32Array(ends.length)];
  ends.forEach((box, edge) => {
    values[next[box] as number] = edge;
    addTo(next, box, 1);
  });
  return { start, values };
}

/** Boxes in ranks, in an order with few crossings; every edge leads to a higher rank. */
export function layersOf(boxRank: Int32Array, edges: Edges): Layers {
  const bends: number[] = [];
  const chains = Array.from(edges.from, (from, edge) => {
    const to = edges.to[edge] as number;
    const chain = [from];
    for (let rank = (boxRank[from] as number) + 1; rank < (boxRank[to] as number); rank++) {
      chain.push(boxRank.length + bends.push(rank) - 1);
    }
    return Int32Array.from([...chain, to]);
  });
  const rank = Int32Array.from([...boxRank, ...bends]);
  const count = rank.reduce((most, each) => Math.max(most, each), -1) + 1;
  const ranks: number[][] = Array.from({ length: count }, () => []);
  rank.forEach((each, slot) => {
    ranks[each]?.push(slot);
  });
  return {
    rank,
    chains,
    ranks: leastCrossed(
      ranks.map((each) => Int32Array.from(each)),
      rank.length,
      chains,
    ),
  };
}

/** The best of some sweeps down and up, in which each slot goes to the mean of those beside it. */
function leastCrossed(
  first: readonly Int32Array[],
  slots: number,
  chains: readonly Int32Array[],
): readonly Int32Array[] {
  const segments = segmentsOf(chains);
  const [above, below] = [edgesBy(slots, segments.to), edgesBy(slots, segments.from)];
  const place = new Int32Array(slots);
  const settle = (rank: Int32Array): void => {
    rank.forEach((slot, at) => {
      place[slot] = at;
    });
  };
  let ranks = first;
  for (const rank of ranks) settle(rank);
  let [best, fewest] = [ranks, crossings(ranks, segments, below, place)];
  const centre = new Float64Array(slots);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const isDown = sweep % 2 === 0;
    const [near, ends] = isDown ? [above, segments.from] : [below, segments.to];
    const next = ranks.slice();
    for (let step = 1; step < ranks.length; step++) {
      const at = isDown ? step : ranks.length - 1 - step;
      const rank = next[at] as Int32Array;
      for (const slot of rank) {
        const [from, to] = [near.start[slot] as number, near.start[slot + 1] as number];
        let sum = 0;
        for (let each = from; each < to; each++)
          sum += place[ends[near.values[each] as number] as number] as number;
        centre[slot] = to > from ? sum / (to - from) : (place[slot] as number);
      }
      const sorted = rank
        .slice()
        .sort(
          (one, other) =>
            (centre[one] as number) - (centre[other] as number) ||
            (place[one] as number) - (place[other] as number),
        );
      next[at] = sorted;
      settle(sorted);
    }
    ranks = next;
    const found = crossings(ranks, segments, below, place);
    if (found < fewest) [best, fewest] = [ranks, found];
  }
  return best;
}

/** The parts of edges between two ranks. */
export function segmentsOf(chains: readonly Int32Array[]): Edges {
  const count = chains.reduce((sum, { length }) => sum + length - 1, 0);
  const [from, to] = [new Int32Array(count), new Int32Array(count)];
  let at = 0;
  for (const chain of chains) {
    for (let step = 1; step < chain.length; step++, at++) {
      from[at] = chain[step - 1] as number;
      to[at] = chain[step] as number;
    }
  }
  return { from, to };
}

/** How often edges cross: for each rank the inversions among the places that its segments lead to. */
function crossings(
  ranks: readonly Int32Array[],
  { to }: Edges,
  below: ReturnType<typeof edgesBy>,
  place: Int32Array,
): number {
  let count = 0;
  for (let at = 0; at + 1 < ranks.length; at++) {
    const width = (ranks[at + 1] as Int32Array).length;
    const seen = new Int32Array(width + 1); // a Fenwick tree of the places met so far
    let met = 0;
    for (const slot of ranks[at] as Int32Array) {
      const targets = below.values
        .subarray(below.start[slot], below.start[slot + 1])
        .map((segment) => place[to[segment] as number] as number)
        .sort();
      for (const target of targets) {
        count += met;
        for (let each = target + 1; each > 0; each -= each & -each) count -= seen[each] as number;
      }
      for (const target of targets) {
        met++;
        for (let each = target + 1; each <= width; each += each & -each) addTo(seen, each, 1);
      }
    }
  }
  return count;
}

/** How many crossings the layers have. */
export function crossingsOf({ ranks, rank, chains }: Layers): number {
  const segments = segmentsOf(chains);
  const place = new Int32Array(rank.length);
  for (const slots of ranks) {
    slots.forEach((slot, at) => {
      place[slot] = at;
    });
  }
  return crossings(ranks, segments, edgesBy(rank.length, segments.from), place);
}

/** Add to an entry of a column. */
export function addTo(column: Int32Array, at: number, by: number): void {
  column[at] = (column[at] as number) + by;
}
