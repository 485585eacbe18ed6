// The first rows of a view as plain HTML, for readers of a saved page whose scripts are off.

import { isMeasure, type Measure } from "../engine/measures.ts";
import type { View } from "../engine/view.ts";
import { short } from "../lib/format.ts";
import { escaped } from "./page.ts";

// As many as tfprof_widget/output/html.py writes.
const MOST_ROWS = 200;

/** A table of names and of the own value and total of each selected measure. */
export function staticTable(view: View): string {
  const measures = view.options.select.filter((column): column is Measure & typeof column =>
    isMeasure(column),
  );
  const head = ["name", ...measures.flatMap((measure) => [measure, `total ${measure}`])];
  const rows = Array.from({ length: Math.min(view.rows, MOST_ROWS) }, (_, row) =>
    tableRow(view, measures, row),
  );
  const more = view.rows > MOST_ROWS ? `<p>${view.rows - MOST_ROWS} more rows</p>` : "";
  return `<table><tr>${head.map((name) => `<th>${name}</th>`).join("")}</tr>${rows.join("")}</table>${more}`;
}

function tableRow(view: View, measures: readonly Measure[], row: number): string {
  const values = measures.flatMap((measure) =>
    [view.own(measure), view.total(measure)].map((column) => {
      return short(measure, (column[row] as number) / view.unit(measure));
    }),
  );
  const name = `<td style="padding-left:${view.depth[row]}em">${escaped(view.name(row))}</td>`;
  return `<tr>${name}${values.map((value) => `<td align="right">${value}</td>`).join("")}</tr>`;
}
