// Library frames of the code view, a run of them told in one row: what is read is the user's own code.

import type { Flags, Indices, Numbers } from "../engine/columns.ts";
import type { Measure } from "../engine/measures.ts";
import type { Tree } from "../engine/tree.ts";
import type { View } from "../engine/view.ts";
import { frameNamed } from "./frames.ts";

/** Rows that stand for all library frames that hang together below them. */
export interface Regions {
  /** The rows that another one stands for. */
  readonly merged: Flags;
  /** For how many frames each row stands. */
  readonly frames: Indices;
  /** Whose frames they are, empty for a row of the user's own. */
  label(row: number): string;
  /** What the frames of a row cost themselves. */
  own(measure: Measure): Numbers;
}

const libraries = new WeakMap<Tree, readonly string[]>();

/** The regions of a code view. */
export function regionsOf(view: View): Regions {
  const ofPlace = librariesOf(view);
  const library = (row: number): string => ofPlace[view.places[row] as number] as string;
  const merged = new Uint8Array(view.rows);
  const top = new Int32Array(view.rows);
  const frames = new Int32Array(view.rows);
  for (let row = 0; row < merged.length; row++) {
    const up = view.parent[row] as number;
    const joins = up >= 0 && library(row) !== "" && library(up) !== "";
    merged[row] = joins ? 1 : 0;
    top[row] = joins ? (top[up] as number) : row;
    frames[top[row] as number] = (frames[top[row] as number] as number) + 1;
  }
  return {
    merged,
    frames,
    label: (row) => labelOf(library, top, frames, row),
    own: (measure) => ownOf(view.own(measure), merged, top),
  };
}

function librariesOf({ profile, forest: { tree } }: View): readonly string[] {
  const found = libraries.get(tree) ?? tree.names.map((name) => frameNamed(profile, name)?.library ?? "");
  libraries.set(tree, found);
  return found;
}

function labelOf(library: (row: number) => string, top: Indices, frames: Indices, row: number): string {
  if (!library(row)) return "";
  const names = new Set<string>();
  for (let each = row, left = frames[row] as number; left > 0; each++) {
    if (top[each] !== row) continue;
    names.add(library(each));
    left--;
  }
  return [...names].join(", ");
}

function ownOf(own: Numbers, merged: Flags, top: Indices): Numbers {
  const sums = own.slice();
  for (let row = 0; row < sums.length; row++) {
    if (merged[row]) sums[top[row] as number] = (sums[top[row] as number] as number) + (own[row] as number);
  }
  return sums;
}
