// Rows as text for the clipboard: exact values, a tab between two, for spreadsheets and chats.

import type { View } from "../../engine/view.ts";
import type { Listing } from "../../state/listing.ts";
import type { TableState } from "../../state/table.ts";
import type { TableColumn } from "./columns.ts";
import { activePosition } from "./keys.ts";

/** Put the selected rows, or the active one, into the clipboard. */
export function copyRows(
  page: Document,
  state: TableState,
  listing: Listing,
  columns: readonly TableColumn[],
): void {
  const { view, seen } = listing;
  const selected = new Set(state.store.selection.value);
  const rows = [...seen].filter((row) => selected.has(view.name(row)));
  const active = seen[activePosition(state, listing)];
  copy(page, tabSeparated(view, columns, rows.length || active === undefined ? rows : [active]));
}

/** The rows as lines, each the name and the values in microseconds, bytes, runs and so on. */
export function tabSeparated(view: View, columns: readonly TableColumn[], rows: Iterable<number>): string {
  const line = (row: number): string =>
    [view.name(row), ...columns.map(({ plain }) => plain(row))].map(cell).join("\t");
  return Array.from(rows, line).join("\n");
}

/** Texts come from anywhere: none may make two cells by a tab in it, or be computed by a spreadsheet. */
function cell(text: string): string {
  return text.replace(/[\t\r\n]+/g, " ").replace(/^(?=[=+@]|-\D)/, "'");
}

/**
 * Put a text into the clipboard. The old command does it in pages without the permission for the new way; its event
 * goes to the document, whatever has the focus.
 */
function copy(page: Document, text: string): void {
  if (!text) return;
  const fill = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  page.addEventListener("copy", fill, { capture: true, once: true });
  page.execCommand("copy");
  page.removeEventListener("copy", fill, { capture: true });
}
