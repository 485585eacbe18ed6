// The tree table: of a hundred thousand rows those in sight are in the page, and the keys and the mouse act on them.

// biome-ignore-all lint/a11y/useSemanticElements: rows far down are not in the page, and a table element would lay out those that are

import type { TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Listing } from "../../state/listing.ts";
import type { Store } from "../../state/store.ts";
import { type TableState, tableOf } from "../../state/table.ts";
import { Lazy } from "../../ui/lazy.tsx";
import { fitting, type TableColumn, tableColumns } from "./columns.ts";
import { copyRows } from "./copying.ts";
import { Header } from "./header.tsx";
import { activePosition, onTableKey } from "./keys.ts";
import { linksOf } from "./links.ts";
import { TableRow } from "./rows.tsx";
import { ROW_HEIGHT, useReveal, useWindow } from "./window.ts";

/** The table of the shown view, or why it is empty; each view's table starts at its top. */
export function TreeTable({ store }: { readonly store: Store }) {
  const state = tableOf(store);
  const listing = state.listing.value;
  if (!listing || listing.view.kept <= 0) return <Lazy store={store} panel="EmptyTable" waiting={null} />;
  return (
    <>
      {hasStrip(listing) && (
        <Lazy store={store} panel="ZoomPath" waiting={<div class="strip" />} lacking={nothing} />
      )}
      <Grid key={`${store.graph.value} ${listing.view.kind}`} state={state} listing={listing} />
    </>
  );
}

/** Whether there is something to say above the table: what is zoomed into, or whose frames are shown. */
function hasStrip({ top, view }: Listing): boolean {
  return top >= 0 || view.kind === "code";
}

function nothing(): null {
  return null;
}

function Grid({ state, listing }: { readonly state: TableState; readonly listing: Listing }) {
  const known = useMemo(() => tableColumns(listing), [listing]);
  const grid = useRef<HTMLDivElement>(null);
  const { first, last, page, size, onScroll } = useWindow(grid, listing.seen.length);
  const { initial } = state.store;
  const asked = listing.view.options.select.filter((each) => !initial.select.includes(each));
  const columns = fitting(known, size, asked);
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
      style={{ "--columns": `minmax(0, 2.4fr) ${columns.map(widthOf).join(" ")}` }}
      onScroll={onScroll}
      onClick={(event) => clicked(state, listing, event)}
      onDblClick={(event) => zoomed(state, listing, event)}
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

/** The bars share with the names what is left. */
function widthOf({ key, width }: TableColumn): string {
  return key === "total" ? `minmax(${width}px, 1fr)` : `${width}px`;
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

function zoomed(state: TableState, listing: Listing, event: MouseEvent): void {
  const row = rowOfEvent(listing, event);
  if (row !== undefined && !(event.target as Element).closest(".twist, .zoom")) state.zoom(listing, row);
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
