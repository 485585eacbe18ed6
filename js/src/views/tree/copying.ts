// Rows as text for the clipboard: exact values, a tab between two, for spreadsheets and chats.

import type { View } from "../../engine/view.ts";
import type { Column } from "./columns.ts";

/** The rows as lines, each the name and the values in microseconds, bytes, runs and so on. */
export function tabSeparated(view: View, columns: readonly Column[], rows: Iterable<number>): string {
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
export function copy(page: Document, text: string): void {
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
