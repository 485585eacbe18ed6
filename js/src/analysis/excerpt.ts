// The rows and columns of a view that matter most, for tables that have little room; as tfprof_widget/output/excerpt.py.

import { isMeasure, type Measure } from "../engine/measures.ts";
import type { View } from "../engine/view.ts";

/** The rows with the largest values of the main measure, in their order; those of a tree with the rows above them. */
export function costliestRows(view: View, most: number): readonly number[] {
  const measure = mainMeasure(view);
  const rows = Array.from({ length: view.rows }, (_, row) => row);
  if (!measure) return rows.slice(0, most);
  const values = view.kind === "op" ? view.own(measure) : view.total(measure);
  const chosen = new Set<number>();
  // Of equal values the first row comes first, which is above the others.
  for (const row of rows.sort((one, other) => (values[other] as number) - (values[one] as number))) {
    if (chosen.size === most || !((values[row] as number) > 0)) break;
    const above = view.parent[row] as number;
    if (above < 0 || chosen.has(above)) chosen.add(row);
  }
  return [...chosen].sort((one, other) => one - other);
}

/** The measure that rows are ordered by if it has values, else the first selected that has some. */
function mainMeasure(view: View): Measure | undefined {
  const ordered = view.options.orderBy;
  const first = isMeasure(ordered) ? [ordered] : [];
  return [...first, ...shownMeasures(view)].find((each) => view.grandTotal(each));
}

/** The selected measures that have any values, the one that rows are ordered by first. */
export function shownMeasures(view: View): readonly Measure[] {
  const { select, orderBy } = view.options;
  const selected = select.map((column) => (column === "occurrence" ? "runs" : column));
  const found = selected.filter((each): each is Measure => isMeasure(each) && view.grandTotal(each) > 0);
  return [...new Set(found)].sort((one, other) => Number(one !== orderBy) - Number(other !== orderBy));
}
