// The tree grid: draws the rows in sight, follows mouse and keys, brings rows into sight.

// biome-ignore-all lint/a11y/useSemanticElements: rows far down are not in the page, and a table element would lay out those that are

import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Flags } from "../../engine/columns.ts";
import type { Tree } from "../../engine/tree.ts";
import type { View } from "../../engine/view.ts";
import { uncomputed } from "../../lib/format.ts";
import { EVERYTHING, type Listing, rowOf } from "../../state/listing.ts";
import { selectedNodes } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
import { type TableState, tableOf } from "../../state/table.ts";
import { EmptyTable, PrintedTable, ZoomPath } from "./beside.tsx";
import { fitting, type TableColumn, tableColumns } from "./columns.ts";
import { Header, type RowState, TableRow } from "./rows.tsx";
import { isReadAsSource, SourceTable } from "./source.tsx";

/** The table of the shown view, or why it is empty; each view's table starts at its top. Code may be read as source. */
export function TreeTable({ store }: { readonly store: Store }) {
  const state = tableOf(store);
  if (isReadAsSource(store)) return <SourceTable store={store} />;
  const listing = state.listing.value;
  if (!listing || listing.view.kept <= 0) return <EmptyTable store={store} />;
  return (
    <>
      <ZoomPath state={state} listing={listing} />
      <Grid key={`${store.graph.value} ${listing.view.kind}`} state={state} listing={listing} />
      <PrintedTable listing={listing} />
    </>
  );
}

function Grid({ state, listing }: { readonly state: TableState; readonly listing: Listing }) {
  const widths = state.widths(listing);
  const known = useMemo(
    () => tableColumns(listing).map((each) => ({ ...each, width: widths[each.key] ?? each.width })),
    [listing, widths],
  );
  const grid = useRef<HTMLDivElement>(null);
  const { first, last, page, size, onScroll } = useWindow(grid, listing.seen.length);
  const { initial } = state.store;
  const asked = listing.view.options.select.filter((each) => !initial.select.includes(each));
  const [inSight, others] = fitting(known, size, asked);
  const columns = [...inSight, ...others];
  const active = activePosition(state, listing);
  useReveal(grid, state, active);
  const selection = state.store.selection.value;
  // In a layout effect, so that it does not undo a key that is pressed before the paint.
  useLayoutEffect(() => state.follow(listing), [selection]);
  const isDrawn = active >= first && active < last;
  return (
    <div
      ref={grid}
      class="tree"
      role="treegrid"
      tabIndex={0}
      aria-label={listing.view.kind}
      aria-multiselectable="true"
      aria-rowcount={listing.seen.length + 1}
      aria-activedescendant={isDrawn ? `row-${active}` : undefined}
      style={{
        "--columns": `minmax(0, 5fr) ${columns.map((each) => widthOf(each, widths)).join(" ")}`,
        "--more": `${others.reduce((sum, { width }) => sum + width, 0)}px`,
      }}
      onScroll={onScroll}
      onClick={(event) => clicked(state, listing, event)}
      onDblClick={(event) => turned(state, listing, event)}
      onKeyDown={(event) => keyed(state, listing, known, event, page)}
    >
      <Header state={state} listing={listing} columns={columns} />
      <div role="rowgroup" class="rows" style={{ height: `${listing.seen.length * ROW_HEIGHT}px` }}>
        <Rows state={state} listing={listing} columns={columns} first={first} last={last} active={active} />
      </div>
    </div>
  );
}

interface RowsProps {
  readonly state: TableState;
  readonly listing: Listing;
  readonly columns: readonly TableColumn[];
  readonly first: number;
  readonly last: number;
  readonly active: number;
}

function Rows({ state, listing, columns, first, last, active }: RowsProps) {
  const { selection, search } = state.store;
  const selected = useMemo(() => new Set(selection.value), [selection.value]);
  const links = linksOf(state.store, listing);
  const matching = state.matching.value;
  const wanted = search.value.trim();
  const rows = [];
  for (let position = first; position < last; position++) {
    const row = listing.seen[position] as number;
    rows.push(
      <TableRow
        // The same few elements are drawn anew while rows pass by.
        key={position % (last - first)}
        listing={listing}
        columns={columns}
        position={position}
        wanted={wanted}
        isActive={position === active}
        isSelected={selected.has(listing.view.name(row))}
        linked={links(row)}
        isMatch={matching?.[listing.view.places[row] as number] === 1}
      />,
    );
  }
  return (
    <div role="presentation" class="window" style={{ transform: `translateY(${first * ROW_HEIGHT}px)` }}>
      {rows}
    </div>
  );
}

/** The bars share with the names what is left, unless their width was chosen. */
function widthOf({ key, width }: TableColumn, widths: Readonly<Record<string, number>>): string {
  return key === "total" && !(key in widths) ? `minmax(${width}px, 1fr)` : `${width}px`;
}

function rowOfEvent({ seen }: Listing, event: Event): number | undefined {
  const row = (event.target as Element).closest<HTMLElement>("[data-position]");
  return row ? seen[Number(row.dataset.position)] : undefined;
}

function clicked(state: TableState, listing: Listing, event: MouseEvent): void {
  const row = rowOfEvent(listing, event);
  if (row === undefined) return;
  const part = event.target as Element;
  if (part.closest(".twist") && listing.outline.isParent[row]) state.fold(listing, row, !listing.folded[row]);
  else if (part.closest(".zoom")) state.zoom(listing, row);
  else state.select(listing, row, { add: event.ctrlKey || event.metaKey, extend: event.shiftKey });
}

/** A double click opens a row, and closes it. */
function turned(state: TableState, listing: Listing, event: MouseEvent): void {
  const row = rowOfEvent(listing, event);
  if (row === undefined || (event.target as Element).closest(".twist, .zoom")) return;
  if (listing.outline.isParent[row]) state.fold(listing, row, !listing.folded[row]);
}

function keyed(
  state: TableState,
  listing: Listing,
  columns: readonly TableColumn[],
  event: TargetedKeyboardEvent<HTMLElement>,
  page: number,
): void {
  // The buttons in the header have keys of their own.
  if (event.target !== event.currentTarget) return;
  if (event.key === "c" && !event.altKey) {
    copyRows(event.currentTarget.ownerDocument, state, listing, columns);
  } else if (!onTableKey(state, listing, event, page)) return;
  event.preventDefault();
}

/** As `--row` in the styles. */
const ROW_HEIGHT = 24;
// Rows drawn above and below those in sight, so that scrolling finds them there.
const OVERSCAN = 8;
// Scrolling draws anew when so many rows have passed.
const STRIDE = 4;

interface Box {
  readonly current: HTMLElement | null;
}

/** The rows in sight and a few around them. */
function useWindow(grid: Box, count: number) {
  const [top, setTop] = useState(0);
  const [size, setSize] = useState({ height: 540, room: 9999, widget: 9999 });
  useLayoutEffect(() => {
    const element = grid.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      const { clientHeight: height, clientWidth: room } = element;
      setSize({ height, room, widget: element.closest(".tfprof")?.clientWidth ?? room });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const page = Math.max(1, Math.floor(size.height / ROW_HEIGHT) - 1);
  const inSight = page + 2 + 2 * OVERSCAN;
  const first = Math.max(0, Math.min(top - OVERSCAN, count - inSight));
  const onScroll = (event: { readonly currentTarget: HTMLElement }): void =>
    setTop(STRIDE * Math.floor(event.currentTarget.scrollTop / (STRIDE * ROW_HEIGHT)));
  return { first, last: Math.min(count, first + inSight), page, size, onScroll };
}

/** Scroll when something asks for the active row, and not when the rows change under the reader. */
function useReveal(grid: Box, state: TableState, active: number): void {
  const reveals = state.reveals.value;
  const isFirst = useRef(true);
  useEffect(() => {
    const element = grid.current;
    if (isFirst.current || !element || active < 0) {
      isFirst.current = false;
      return;
    }
    const header = element.querySelector<HTMLElement>(".headers")?.offsetHeight ?? 0;
    const [from, to] = [active * ROW_HEIGHT, (active + 1) * ROW_HEIGHT];
    const room = element.clientHeight - header;
    const isFar = to < element.scrollTop - room || from > element.scrollTop + 2 * room;
    if (isFar) element.scrollTop = from - room / 2;
    else if (from < element.scrollTop) element.scrollTop = from;
    else if (to > element.scrollTop + room) element.scrollTop = to - room;
  }, [reveals]);
}

/** Says of a row whether nodes behind the selection are counted by it, or folded away below it. */
function linksOf(store: Store, { view, folded, regions }: Listing): (row: number) => RowState["linked"] {
  const flags = selectedNodes(store).value;
  const { tree } = view.forest;
  if (!flags) return () => "";
  const counts = countsUpTo(tree, flags);
  const between = (from: number, to: number): boolean => counts[from] !== counts[to];
  return (row) => {
    const place = view.places[row] as number;
    const start = tree.rowStart[place] as number;
    if (between(start, tree.rowStart[place + 1] as number)) return "itself";
    const hides = folded[row] || (regions?.frames[row] ?? 1) > 1;
    return hides && between(start, tree.rowStart[tree.end[place] as number] as number) ? "below" : "";
  };
}

const known = new WeakMap<Flags, WeakMap<Tree, Int32Array>>();

/** How many of the first rows of a tree are flagged; counted once a selection, however often rows are drawn. */
function countsUpTo(tree: Tree, flags: Flags): Int32Array {
  const ofTrees = known.get(flags) ?? new WeakMap<Tree, Int32Array>();
  known.set(flags, ofTrees);
  const found = ofTrees.get(tree) ?? new Int32Array(tree.rows.length + 1);
  if (!ofTrees.has(tree)) {
    ofTrees.set(tree, found);
    for (let row = 0; row < tree.rows.length; row++) {
      found[row + 1] = (found[row] as number) + (flags[tree.rows[row] as number] as number);
    }
  }
  return found;
}

/** The position of the active row among those seen, -1 if it is not. */
function activePosition(state: TableState, { view, seen }: Listing): number {
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
function copyRows(
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
