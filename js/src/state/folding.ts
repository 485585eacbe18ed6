// Folding: which rows of a tree are seen, from what was folded by hand and by rule; over arrays, for trees are large.

import type { Flags, Indices, Numbers } from "../engine/columns.ts";

/** What decides about a row that was not folded or unfolded by hand: its share of the whole, or its level. */
export type Rule = { readonly share: number } | { readonly level: number };

/** What costs at least a twentieth is unfolded at first, so that the first screen tells where the cost is. */
export const TELLING: Rule = { share: 0.05 };
/** All is unfolded. */
export const EVERYTHING: Rule = { level: Number.MAX_SAFE_INTEGER };

/** What was done to a place by hand. */
export const BY_RULE = 0;
export const FOLDED = 1;
export const UNFOLDED = 2;

/** The rows of a tree in preorder: the row above each, -1 for none; those that are merged into it are not shown. */
export interface Outline {
  readonly above: Indices;
  readonly merged: Flags | null;
  readonly level: Indices;
  /** Whether there is a row to unfold below it. */
  readonly isParent: Flags;
}

/** An outline of all rows that are not merged into the next one above. */
export function outlineOf(parent: Indices, merged: Flags | null): Outline {
  const above = merged ? aboveMerged(parent, merged) : parent;
  const level = new Int32Array(parent.length);
  const isParent = new Uint8Array(parent.length);
  for (let row = 0; row < level.length; row++) {
    const up = above[row] as number;
    if (up < 0 || merged?.[row]) continue;
    level[row] = (level[up] as number) + 1;
    isParent[up] = 1;
  }
  return { above, merged, level, isParent };
}

/** The row above that is itself shown; preorder puts it first. */
function aboveMerged(parent: Indices, merged: Flags): Indices {
  const above = parent.slice();
  for (let row = 0; row < above.length; row++) {
    const up = parent[row] as number;
    if (up >= 0 && merged[up]) above[row] = above[up] as number;
  }
  return above;
}

/** Whether each row is folded; `places` finds what was done to a row by hand in `marks`. */
export function foldedRows(
  outline: Outline,
  rule: Rule,
  cost: Numbers,
  whole: number,
  marks: Flags,
  places: Indices,
): Flags {
  const { isParent, level } = outline;
  const folded = new Uint8Array(level.length);
  const least = "share" in rule ? rule.share * whole : 0;
  const deepest = "level" in rule ? rule.level : 0;
  for (let row = 0; row < folded.length; row++) {
    if (!isParent[row]) continue;
    const mark = marks[places[row] as number] ?? BY_RULE;
    if (mark !== BY_RULE) folded[row] = mark === FOLDED ? 1 : 0;
    else if ("level" in rule) folded[row] = (level[row] as number) >= deepest ? 1 : 0;
    else folded[row] = row > 0 && (cost[row] as number) < least ? 1 : 0;
  }
  return folded;
}

/** The rows that no folded row hides, of the subtree of `top` or, where that is -1, of the whole. */
export function seenRows({ above, merged }: Outline, folded: Flags, top: number): Indices {
  const isHidden = new Uint8Array(above.length);
  const seen = new Int32Array(above.length);
  let count = 0;
  for (let row = Math.max(top, 0); row < above.length; row++) {
    const up = above[row] as number;
    if (row > top && up < top) break;
    if (row > top && up >= 0 && (isHidden[up] || folded[up])) isHidden[row] = 1;
    else if (!merged?.[row]) seen[count++] = row;
  }
  return seen.slice(0, count);
}

/** The marks, with another one at each of these places. */
export function marked(marks: Flags, places: readonly number[], mark: number): Flags {
  const grown = new Uint8Array(Math.max(marks.length, ...places.map((place) => place + 1)));
  grown.set(marks);
  for (const place of places) grown[place] = mark;
  return grown;
}
