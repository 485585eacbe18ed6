// A tree after accounting: its kept places, which of them count themselves, and how often each row counts.

import { type Flags, gatheredFlags, type Indices, positionsOf } from "./columns.ts";
import type { Tree } from "./tree.ts";

/** The kept places of a tree with the rows that count; one may be kept for the sake of what is below it only. */
export interface Forest {
  readonly tree: Tree;
  readonly accounted: Flags;
  readonly weight: Indices;
}

/** Contract a tree to the places that are kept and the rows whose weight is not 0; the root always stays. */
export function forestOf(tree: Tree, accounted: Flags, kept: Flags, weight: Indices): Forest {
  const places = kept.slice();
  places[0] = 1;
  const marked = accounted.slice();
  marked[0] = 0;
  const counted = Uint8Array.from(weight, (times) => (times > 0 ? 1 : 0));
  return {
    tree: tree.contracted(places, counted),
    accounted: gatheredFlags(marked, positionsOf(places)),
    weight: weight.filter((times) => times > 0),
  };
}

/** Whether a place or any place below it is marked. */
export function anyBelow(tree: Tree, marked: Flags): Flags {
  const found = marked.slice();
  for (let place = found.length - 1; place > 0; place--) {
    if (found[place]) found[tree.parent[place] as number] = 1;
  }
  return found;
}

/** Whether a place has a row that counts. */
export function anyRow(tree: Tree, weight: Indices): Flags {
  const found = new Uint8Array(tree.size);
  for (let place = 0; place < found.length; place++) {
    const last = tree.rowStart[place + 1] as number;
    for (let row = tree.rowStart[place] as number; row < last; row++) {
      if (weight[row]) found[place] = 1;
    }
  }
  return found;
}
