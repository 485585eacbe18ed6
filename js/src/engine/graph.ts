// The graph view: the depth-first spanning tree from the nodes that are nobody's input along their inputs.

import type { Lists, Profile } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import { accounted, type Forest, forestOf } from "./account.ts";
import type { Indices } from "./columns.ts";
import { ROOT_NAME, Tree } from "./tree.ts";

/** The spanning tree in the order of the walk; a cycle that nothing else consumes is not reached. */
export function graphTree(names: readonly string[], inputs: Lists): Tree {
  const { rows, parents } = walked(names.length, inputs);
  const rowStart = new Int32Array(rows.length + 2);
  for (let place = 1; place < rowStart.length; place++) rowStart[place] = place - 1;
  const nameRank = new Int32Array(rows.length + 1);
  nameRank.set(rows, 1); // nodes are sorted by name
  return new Tree(
    [ROOT_NAME, ...rows.map((row) => names[row] as string)],
    Int32Array.from([-1, ...parents]),
    Int32Array.from(rows),
    rowStart,
    nameRank,
  );
}

/** What is accounted in a graph tree; only accounted places are kept, the others hand their children up. */
export function graphForest(profile: Profile, tree: Tree, options: Options): Forest {
  const nodes = accounted(profile, options);
  const weight = Int32Array.from(tree.rows, (row) => nodes[row] as number);
  const marked = new Uint8Array(tree.size);
  marked.set(weight, 1);
  return forestOf(tree, marked, marked, weight);
}

/** The nodes in the order first met, and the place of the node from which each was met. */
function walked(count: number, inputs: Lists): { rows: number[]; parents: number[] } {
  const isConsumed = new Uint8Array(count);
  for (const source of inputs.values) if (source >= 0) isConsumed[source] = 1;
  const isMet = new Uint8Array(count);
  const rows: number[] = [];
  const parents: number[] = [];
  for (let root = 0; root < count; root++) {
    if (isConsumed[root]) continue;
    const pending: [row: number, parent: number][] = [[root, 0]];
    for (let each = pending.pop(); each; each = pending.pop()) {
      const [row, parent] = each;
      if (isMet[row]) continue;
      isMet[row] = 1;
      rows.push(row);
      parents.push(parent);
      pushInputs(pending, inputs, isMet, row, rows.length);
    }
  }
  return { rows, parents };
}

/** The first input comes out first. An input that the graph lacks has index -1. */
function pushInputs(
  pending: [row: number, parent: number][],
  inputs: Lists,
  isMet: Indices | Uint8Array,
  row: number,
  place: number,
): void {
  const first = inputs.start[row] as number;
  for (let i = (inputs.start[row + 1] as number) - 1; i >= first; i--) {
    const source = inputs.values[i] as number;
    if (source >= 0 && !isMet[source]) pending.push([source, place]);
  }
}
