// Where slots stand from left to right in their ranks: straight below each other where they can.

import { addTo, type Edges, edgesBy, type Layers, segmentsOf } from "./graph_layout.ts";

const ALIGNMENTS = 12;
// Boxes stand above boxes; where a long edge ends matters less.
const END_WEIGHT = 0.1;

/**
 * The middle of each slot from left to right, so that no two slots of a rank overlap. Slots that follow each other form
 * blocks that stand straight below each other: bends of an edge, and boxes that are each other's only neighbours. Blocks
 * then move to the mean of what they are linked with, as far as those beside them let them.
 */
export function middlesOf(layers: Layers, width: Float64Array, gap: number): Float64Array {
  const { ranks, rank, chains } = layers;
  const segments = segmentsOf(chains);
  const block = blocksOf(layers, segments, width.length);
  const count = block.reduce((most, each) => Math.max(most, each), -1) + 1;
  const apart: Apart[] = [];
  const half = (slot: number): number => (width[slot] ?? 0) / 2;
  for (const slots of ranks) {
    for (let at = 1; at < slots.length; at++) {
      const [left, right] = [slots[at - 1] as number, slots[at] as number];
      apart.push([block[left] as number, block[right] as number, half(left) + half(right) + gap]);
    }
  }
  const order = inOrder(count, apart);
  const middle = betweenEnds(order, apart, count);
  settleBlocks(middle, order, apart, segments, block, width.length);
  return Float64Array.from(rank, (_, slot) => middle[block[slot] as number] as number);
}

/** A block, one to the right of it, and how far apart their middles are at least. */
type Apart = readonly [left: number, right: number, least: number];

/** The block of each slot. */
function blocksOf({ ranks, rank }: Layers, { from, to }: Edges, boxes: number): Int32Array {
  const [above, below] = [edgesBy(rank.length, to), edgesBy(rank.length, from)];
  const place = new Int32Array(rank.length);
  for (const slots of ranks) {
    slots.forEach((slot, at) => {
      place[slot] = at;
    });
  }
  // A bend goes on to the next bend, a box to the middle one of the boxes that it leads to, if there is one.
  const preferred = (slot: number, near: ReturnType<typeof edgesBy>, ends: Int32Array): number => {
    const all = Array.from(
      near.values.subarray(near.start[slot], near.start[slot + 1]),
      (each) => ends[each] as number,
    );
    const alike = all.filter((each) => each >= boxes === slot >= boxes);
    alike.sort((one, other) => (place[one] as number) - (place[other] as number));
    return alike.length % 2 ? (alike[alike.length >> 1] as number) : -1;
  };
  const block = new Int32Array(rank.length).fill(-1);
  let count = 0;
  ranks.forEach((slots, at) => {
    // Blocks do not cross; those of bends come first.
    const joined: (readonly [upper: number, lower: number])[] = [];
    for (const isBend of [true, false]) {
      for (const slot of slots) {
        if (at === 0 || slot >= boxes !== isBend) continue;
        const upper = preferred(slot, above, from);
        if (upper < 0 || preferred(upper, below, to) !== slot) continue;
        const [high, low] = [place[upper] as number, place[slot] as number];
        if (joined.some(([one, other]) => (one - high) * (other - low) <= 0)) continue;
        joined.push([high, low]);
        block[slot] = block[upper] as number;
      }
    }
    for (const slot of slots) if ((block[slot] as number) < 0) block[slot] = count++;
  });
  return block;
}

/** The blocks, those at the left first. */
function inOrder(count: number, apart: readonly Apart[]): Int32Array {
  const [waiting, out] = [
    new Int32Array(count),
    edgesBy(
      count,
      Int32Array.from(apart, ([left]) => left),
    ),
  ];
  for (const [, right] of apart) addTo(waiting, right, 1);
  const order = new Int32Array(count);
  let met = 0;
  for (let block = 0; block < count; block++) if (!waiting[block]) order[met++] = block;
  for (let next = 0; next < met; next++) {
    const block = order[next] as number;
    for (let at = out.start[block] as number; at < (out.start[block + 1] as number); at++) {
      const [, right] = apart[out.values[at] as number] as Apart;
      addTo(waiting, right, -1);
      if (!waiting[right]) order[met++] = right;
    }
  }
  return order;
}

/** Halfway between the places as far left and as far right as can be. */
function betweenEnds(order: Int32Array, apart: readonly Apart[], count: number): Float64Array {
  const [left, right] = [new Float64Array(count), new Float64Array(count)];
  const [into, out] = [
    edgesBy(
      count,
      Int32Array.from(apart, ([, block]) => block),
    ),
    edgesBy(
      count,
      Int32Array.from(apart, ([block]) => block),
    ),
  ];
  for (const block of order) {
    for (let at = into.start[block] as number; at < (into.start[block + 1] as number); at++) {
      const [near, , least] = apart[into.values[at] as number] as Apart;
      left[block] = Math.max(left[block] as number, (left[near] as number) + least);
    }
  }
  right.fill(left.reduce((most, each) => Math.max(most, each), 0));
  for (const block of order.slice().reverse()) {
    for (let at = out.start[block] as number; at < (out.start[block + 1] as number); at++) {
      const [, near, least] = apart[out.values[at] as number] as Apart;
      right[block] = Math.min(right[block] as number, (right[near] as number) - least);
    }
  }
  return left.map((each, block) => (each + (right[block] as number)) / 2);
}

/** Move each block to the mean of the slots that it is linked with, between the blocks beside it. */
function settleBlocks(
  middle: Float64Array,
  order: Int32Array,
  apart: readonly Apart[],
  { from, to }: Edges,
  block: Int32Array,
  boxes: number,
): void {
  const count = middle.length;
  const [into, out] = [
    edgesBy(
      count,
      Int32Array.from(apart, ([, right]) => right),
    ),
    edgesBy(
      count,
      Int32Array.from(apart, ([left]) => left),
    ),
  ];
  const weight = Float64Array.from(from, (source, segment) =>
    source < boxes && (to[segment] as number) < boxes ? 1 : END_WEIGHT,
  );
  const ends = from.map((each) => block[each] as number);
  const starts = to.map((each) => block[each] as number);
  const [down, up] = [edgesBy(count, ends), edgesBy(count, starts)];
  const backwards = order.slice().reverse();
  for (let turn = 0; turn < ALIGNMENTS; turn++) {
    for (const each of turn % 2 ? backwards : order) {
      let [sum, weights] = [0, 0];
      for (const [near, others] of [
        [down, starts],
        [up, ends],
      ] as const) {
        for (let at = near.start[each] as number; at < (near.start[each + 1] as number); at++) {
          const segment = near.values[at] as number;
          const other = others[segment] as number;
          if (other === each) continue;
          sum += (weight[segment] as number) * (middle[other] as number);
          weights += weight[segment] as number;
        }
      }
      if (!weights) continue;
      let [least, most] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
      for (let at = into.start[each] as number; at < (into.start[each + 1] as number); at++) {
        const [left, , distance] = apart[into.values[at] as number] as Apart;
        least = Math.max(least, (middle[left] as number) + distance);
      }
      for (let at = out.start[each] as number; at < (out.start[each + 1] as number); at++) {
        const [, right, distance] = apart[out.values[at] as number] as Apart;
        most = Math.min(most, (middle[right] as number) - distance);
      }
      middle[each] = Math.max(least, Math.min(most, sum / weights));
    }
  }
}
