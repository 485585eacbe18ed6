// Keys of the tree grid, and the rows that are copied as text.

import type { View } from "../../engine/view.ts";
import { uncomputed } from "../../lib/format.ts";
import { EVERYTHING, type Listing, rowOf } from "../../state/listing.ts";
import type { TableState } from "../../state/table.ts";
import type { TableColumn } from "./columns.ts";

/** The position of the active row among those seen, -1 if it is not. */
export function activePosition(state: TableState, { view, seen }: Listing): number {
  const place = state.active.value;
  return place < 0 ? -1 : seen.indexOf(rowOf(view, place));
}

/** Do what a key asks for; returns whether it asks for anything. `page` is how many rows are in sight. */
export function onTableKey(state: TableState, listing: Listing, event: KeyboardEvent, page: number): boolean {
  const at = activePosition(state, listing);
  const moved = movement(event.key, at, listing.seen.length, page);
  if (moved !== null) {
    move(state, listing, moved, event.shiftKey);
    return true;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return event.key === " " && toggle(state, listing, at);
  return treeKey(state, listing, event, at) || letter(state, listing, event.key, at);
}

function movement(key: string, at: number, count: number, page: number): number | null {
  const target: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: count - 1,
  };
  const found = Object.hasOwn(target, key) ? (target[key] as number) : null;
  return found === null || count === 0 ? null : Math.max(0, Math.min(found, count - 1));
}

function move(state: TableState, listing: Listing, position: number, isExtending: boolean): void {
  const row = listing.seen[position] as number;
  if (isExtending) state.select(listing, row, { extend: true });
  state.goTo(listing, row);
}

function treeKey(state: TableState, listing: Listing, event: KeyboardEvent, at: number): boolean {
  const { outline, folded, seen, top } = listing;
  const row = seen[at];
  if (event.key === "Escape") {
    if (state.store.selection.value.length) state.store.selection.value = [];
    else if (top >= 0) state.zoom(listing, -1);
    else return false;
    return true;
  }
  if (row === undefined) return false;
  if (event.key === "ArrowRight") {
    if (outline.isParent[row] && folded[row]) state.fold(listing, row, false);
    else if (outline.isParent[row]) state.goTo(listing, seen[at + 1] as number);
    // On a row without rows below it the key scrolls to the columns that are out of sight.
    return outline.isParent[row] === 1;
  }
  if (event.key === "ArrowLeft") {
    const up = outline.above[row] as number;
    if (outline.isParent[row] && !folded[row]) state.fold(listing, row, true);
    else if (up >= 0 && row !== top) state.goTo(listing, up);
    else return false;
    return true;
  }
  if (event.key === "Enter") state.select(listing, row);
  else if (event.key === " ") return toggle(state, listing, at);
  else return false;
  return true;
}

function toggle(state: TableState, listing: Listing, at: number): boolean {
  const row = listing.seen[at];
  if (row === undefined) return false;
  state.select(listing, row, { add: true });
  return true;
}

function letter(state: TableState, listing: Listing, key: string, at: number): boolean {
  const row = listing.seen[at] ?? -1;
  if (key === "n") state.find(1);
  else if (key === "N") state.find(-1);
  else if (key === "z" && row >= 0) state.zoom(listing, row);
  else if (key === "Z" || key === "Backspace") state.zoom(listing, zoomedOut(listing));
  else if (key === "*") state.foldBy(listing, EVERYTHING);
  else return false;
  return true;
}

/** The row to zoom to when one level up is asked for. */
function zoomedOut({ outline, top }: Listing): number {
  return top < 0 ? -1 : (outline.above[top] as number);
}

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
    [
      cell(view.name(row)),
      ...columns.map(({ plain, isText }) => (isText ? cell(plain(row)) : plain(row))),
    ].join("\t");
  return Array.from(rows, line).join("\n");
}

/** Texts come from anywhere: none may make two cells by a tab in it, or be computed by a spreadsheet. */
function cell(text: string): string {
  return uncomputed(text.replace(/[\t\r\n]+/g, " "));
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
