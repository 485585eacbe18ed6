// Which rows the selection is about, wherever it was made: a bar, a slice of the timeline, another row.

import type { Flags } from "../../engine/columns.ts";
import type { Tree } from "../../engine/tree.ts";
import type { Listing } from "../../state/listing.ts";
import { selectedNodes } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
import type { RowState } from "./rows.tsx";

/** Says of a row whether nodes behind the selection are counted by it, or folded away below it. */
export function linksOf(
  store: Store,
  { view, folded, regions }: Listing,
): (row: number) => RowState["linked"] {
  const flags = selectedNodes(store).value;
  const { tree } = view.forest;
  if (!flags) return () => "";
  const counts = countsUpTo(tree, flags);
  const between = (from: number, to: number): boolean => counts[from] !== counts[to];
  return (row) => {
    const place = view.places[row] as number;
    const start = tree.rowStart[place] as number;
    if (between(start, tree.rowStart[place + 1] as number)) return "itself";
    const hides = folded[row] || (regions?.frames[row] ?? 1) > 1;
    return hides && between(start, tree.rowStart[tree.end[place] as number] as number) ? "below" : "";
  };
}

const known = new WeakMap<Flags, WeakMap<Tree, Int32Array>>();

/** How many of the first rows of a tree are flagged; counted once a selection, however often rows are drawn. */
function countsUpTo(tree: Tree, flags: Flags): Int32Array {
  const ofTrees = known.get(flags) ?? new WeakMap<Tree, Int32Array>();
  known.set(flags, ofTrees);
  const found = ofTrees.get(tree) ?? new Int32Array(tree.rows.length + 1);
  if (!ofTrees.has(tree)) {
    ofTrees.set(tree, found);
    for (let row = 0; row < tree.rows.length; row++) {
      found[row + 1] = (found[row] as number) + (flags[tree.rows[row] as number] as number);
    }
  }
  return found;
}
