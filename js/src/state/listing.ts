// Lists the rows of a view that are visible after folding, zooming and searching; over arrays, for trees are large.

import type { Regions } from "../analysis/frames.ts";
import { type Flags, gatheredIndices, type Indices, type Numbers } from "../engine/columns.ts";
import { isMeasure, type Measure } from "../engine/measures.ts";
import type { Tree } from "../engine/tree.ts";
import type { View } from "../engine/view.ts";

/** What the reader did to the tree; places are those of the tree before accounting, so that they outlive options. */
export interface FoldState {
  readonly rule: Rule;
  readonly marks: Flags;
  /** The place zoomed into; the root is the whole. */
  readonly zoom: number;
  readonly isMerging: boolean;
}

/** The rows to show and what belongs to them. */
export interface Listing {
  readonly view: View;
  readonly outline: Outline;
  readonly regions: Regions | null;
  readonly folded: Flags;
  /** The rows to show, one after another. */
  readonly seen: Indices;
  /** The row zoomed into, -1 for none. */
  readonly top: number;
  /** The measure of the own and total columns, its columns, and what is all of it. */
  readonly lead: Measure;
  readonly own: Numbers;
  readonly total: Numbers;
  /** What the bars are parts of: what is zoomed into. */
  readonly whole: number;
  /** What shares are parts of: all that is accounted. */
  readonly all: number;
}

/** What the panels know of the Python frames that are the rows of a code view. */
interface FrameReader {
  regionsOf(view: View): Regions;
  /** The line of source of a row, empty where it is not known. */
  sourceOf(view: View, row: number): string;
}

let frames: FrameReader | undefined;

/** Read Python frames so; it comes with the code view, after the first paint. */
export function readFrames(reader: FrameReader): void {
  frames = reader;
}

/** The line of source of a row of a code view. */
export function sourceOfRow(view: View, row: number): string {
  return frames?.sourceOf(view, row) ?? "";
}

const LEADS: readonly Measure[] = ["micros", "bytes", "output_bytes", "float_ops", "params", "runs"];

/** The listing of a view. */
export function listingOf(view: View, reading: FoldState): Listing {
  const regions = view.kind === "code" && reading.isMerging ? (frames?.regionsOf(view) ?? null) : null;
  const outline = outlineOf(view.parent, regions?.merged ?? null);
  const lead = leadOf(view);
  const total = view.total(lead);
  const all = view.grandTotal(lead);
  const folded = foldedRows(outline, reading.rule, total, all, reading.marks, lastingPlaces(view));
  const top = reading.zoom > 0 ? rowOf(view, reading.zoom) : -1;
  return {
    view,
    outline,
    regions,
    folded,
    seen: seenRows(outline, folded, top),
    top,
    lead,
    own: regions ? regions.own(lead) : view.own(lead),
    total,
    whole: top < 0 ? all : (total[top] as number),
    all: view.all(lead),
  };
}

/** The measure that rows are compared by: time where there is any. */
function leadOf(view: View): Measure {
  const { orderBy } = view.options;
  const found = LEADS.find((measure) => view.grandTotal(measure) !== 0);
  return found ?? (isMeasure(orderBy) ? orderBy : "micros");
}

/** The places of the rows in the tree before accounting. */
function lastingPlaces({ places, forest: { tree } }: View): Indices {
  return tree.origin ? gatheredIndices(tree.origin, places) : places;
}

/** The place of a row in the tree before accounting. */
export function lastingPlace({ places, forest: { tree } }: View, row: number): number {
  const place = places[row] ?? -1;
  return tree.origin ? (tree.origin[place] ?? -1) : place;
}

/** The row of such a place, -1 if it is not shown. */
export function rowOf({ places, forest: { tree } }: View, lasting: number): number {
  const place = tree.origin ? tree.origin.indexOf(lasting) : lasting;
  return place < 0 ? -1 : places.indexOf(place);
}

/** What decides about a row that was not folded or unfolded by hand: its share of the whole, or its level. */
export type Rule = { readonly share: number } | { readonly level: number };

/** What costs at least a twentieth is unfolded at first, so that the first screen tells where the cost is. */
export const TELLING: Rule = { share: 0.05 };
/** All is unfolded. */
export const EVERYTHING: Rule = { level: Number.MAX_SAFE_INTEGER };

/** What was done to a place by hand. */
const BY_RULE = 0;
export const FOLDED = 1;
export const UNFOLDED = 2;

/** The rows of a tree in preorder: the row above each, -1 for none; those that are merged into it are not shown. */
interface Outline {
  readonly above: Indices;
  readonly merged: Flags | null;
  readonly level: Indices;
  /** Whether there is a row to unfold below it. */
  readonly isParent: Flags;
}

/** An outline of all rows that are not merged into the next one above. */
function outlineOf(parent: Indices, merged: Flags | null): Outline {
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
function foldedRows(
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

/** Whether each place matches: its name holds the text, and not only the part of it that the place above has too. */
export function matchingPlaces({ names, parent }: Tree, text: string): Flags {
  const found = new Uint8Array(names.length);
  if (!text) return found;
  const wanted = text.toLowerCase();
  for (let place = 1; place < found.length; place++) {
    const last = (names[place] as string).toLowerCase().lastIndexOf(wanted);
    if (last < 0) continue;
    const above = names[parent[place] as number] as string;
    const inherited = (names[place] as string).startsWith(`${above}/`) ? above.length + 1 : 0;
    if (last + wanted.length >= inherited) found[place] = 1;
  }
  return found;
}

/** The rows whose place matches, in the order shown. */
export function matchingRows(places: Indices, matching: Flags): Indices {
  const found = new Int32Array(places.length);
  let count = 0;
  for (let row = 0; row < places.length; row++) if (matching[places[row] as number]) found[count++] = row;
  return found.slice(0, count);
}

/** The match to go to from a row: the next one, round and round; the row itself only if `isFresh`. */
export function nextMatch(matches: Indices, row: number, direction: 1 | -1, isFresh: boolean): number {
  if (!matches.length) return -1;
  const at = matches.findIndex((match) => match >= row);
  const onward = at < 0 ? matches.length : at;
  const isThere = matches[onward] === row;
  const next = direction < 0 ? onward - 1 : onward + (isThere && !isFresh ? 1 : 0);
  return matches[(next + matches.length) % matches.length] as number;
}

/** A text cut before and after what is found in it first; all in the first part where nothing is. */
export function cutAtMatch(
  text: string,
  wanted: string,
): readonly [before: string, match: string, after: string] {
  const at = wanted ? text.toLowerCase().indexOf(wanted.toLowerCase()) : -1;
  if (at < 0) return [text, "", ""];
  return [text.slice(0, at), text.slice(at, at + wanted.length), text.slice(at + wanted.length)];
}
