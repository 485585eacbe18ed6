// A view as CSV (RFC 4180): a row a shown row, with the columns of `to_dataframe`, every value in full.

import { MEASURES } from "../engine/measures.ts";
import type { View } from "../engine/view.ts";

type CsvColumn = readonly [name: string, cell: (row: number) => string];

const ROWS_A_PART = 2000;
// What makes a spreadsheet compute a cell instead of showing it; see OWASP on CSV injection.
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** The lines of a view, some at a time. */
export function* csvParts(view: View): Generator<string> {
  const columns = csvColumns(view);
  yield line(columns.map(([name]) => name));
  for (let first = 0; first < view.rows; first += ROWS_A_PART) {
    const rows = Array.from(
      { length: Math.min(ROWS_A_PART, view.rows - first) },
      (_, index) => first + index,
    );
    yield rows.map((row) => line(columns.map(([, cell]) => cell(row)))).join("");
  }
}

/** A text as a cell that is shown as it is, and never computed. */
export function textCell(text: string): string {
  const shown = FORMULA.test(text) ? `'${text}` : text;
  return shown !== text || /[",\r\n]/.test(text) ? `"${shown.replaceAll('"', '""')}"` : text;
}

function csvColumns(view: View): readonly CsvColumn[] {
  const { depth, parent, accounted, definitions, hidden, node } = view;
  const { nodes } = view.profile;
  const ofNode = (names: readonly string[], index: Int32Array) => (row: number) =>
    textCell(names[index[node[row] as number] ?? -1] ?? "");
  return [
    ["name", (row) => textCell(view.name(row))],
    ["depth", (row) => String(depth[row])],
    ["parent", (row) => String(parent[row])],
    ["op", view.kind === "op" ? (row) => textCell(view.name(row)) : ofNode(nodes.ops, nodes.op)],
    ["device", ofNode(nodes.devices, nodes.device)],
    ["accounted", (row) => (accounted[row] ? "True" : "False")],
    ...MEASURES.flatMap((measure): CsvColumn[] => {
      const [own, total, unit] = [view.own(measure), view.total(measure), view.unit(measure)];
      return [
        [measure, (row) => String((own[row] as number) / unit)],
        [`total_${measure}`, (row) => String((total[row] as number) / unit)],
      ];
    }),
    ["definitions", (row) => String(definitions[row])],
    ["hidden_ops", (row) => String(hidden[row])],
  ];
}

function line(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}
