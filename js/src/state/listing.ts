// What of a view the table shows: after folding, after zooming in, with library frames merged or not.

import { type Regions, regionsOf } from "../analysis/regions.ts";
import { type Flags, gatheredIndices, type Indices, type Numbers } from "../engine/columns.ts";
import { isMeasure, type Measure } from "../engine/measures.ts";
import type { View } from "../engine/view.ts";
import { foldedRows, type Outline, outlineOf, type Rule, seenRows } from "./folding.ts";

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
  readonly whole: number;
}

const LEADS: readonly Measure[] = ["micros", "bytes", "output_bytes", "float_ops", "params", "runs"];

/** The listing of a view. */
export function listingOf(view: View, reading: FoldState): Listing {
  const regions = view.kind === "code" && reading.isMerging ? regionsOf(view) : null;
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
  };
}

/** The measure that rows are compared by: time where there is any. */
function leadOf(view: View): Measure {
  const { orderBy } = view.options;
  const found = LEADS.find((measure) => view.grandTotal(measure) !== 0);
  return found ?? (isMeasure(orderBy) ? orderBy : "micros");
}

/** The places of the rows in the tree before accounting. */
export function lastingPlaces({ places, forest: { tree } }: View): Indices {
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
