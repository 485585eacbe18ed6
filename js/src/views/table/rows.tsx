// The header and a row of the tree grid.

// biome-ignore-all lint/a11y/useSemanticElements: rows far down are not in the page, and a table element would lay out those that are
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus and names the active row, for the rows come and go

import type { Order } from "../../data/protocol.ts";
import { plainType, visible } from "../../lib/format.ts";
import {
  cutAtMatch,
  EVERYTHING,
  type Listing,
  type Rule,
  sourceOfRow,
  TELLING,
} from "../../state/listing.ts";
import type { TableState } from "../../state/table.ts";
import { secondary, type TableColumn } from "./columns.ts";

interface HeaderProps {
  readonly state: TableState;
  readonly listing: Listing;
  readonly columns: readonly TableColumn[];
}

const DEPTHS = [1, 2, 3, 4, 5, 6, 8, 10];

/** The row of headers. */
export function Header({ state, listing, columns }: HeaderProps) {
  const { orderBy } = listing.view.options;
  return (
    <div role="row" class="headers" aria-rowindex={1}>
      <div role="columnheader" class="name" aria-sort={orderBy === "name" ? "ascending" : undefined}>
        <SortButton state={state} title="name" help="order by name" order="name" orderBy={orderBy} />
        {listing.view.kind !== "op" && <Folding state={state} listing={listing} />}
      </div>
      {columns.map(({ key, title, help, order, isText, width }, place) => (
        <div
          key={key}
          role="columnheader"
          aria-label={title}
          class={isText ? "cell text" : "cell"}
          aria-sort={order === orderBy ? "descending" : undefined}
        >
          {order ? (
            <SortButton state={state} title={title} help={help} order={order} orderBy={orderBy} />
          ) : (
            <span title={help}>{title}</span>
          )}
          <Divider
            state={state}
            listing={listing}
            column={key}
            title={title}
            width={width}
            isFirst={place === 0}
          />
        </div>
      ))}
    </div>
  );
}

interface DividerProps {
  readonly state: TableState;
  readonly listing: Listing;
  readonly column: string;
  readonly title: string;
  readonly width: number;
  readonly isFirst: boolean;
}

// In pixels: how far a key moves a divider, and how narrow and wide a column can be.
const STEP = 8;
const NARROWEST = 40;
const WIDEST = 600;

/**
 * Stands before a column, to make it wider or narrower: what it takes, names give. Left and right move it; up and down go
 * to another one, so that all of them are one stop of the Tab key; Enter or a double click undoes it.
 */
function Divider({ state, listing, column, title, width, isFirst }: DividerProps) {
  const put = (wanted: number | null): void =>
    state.widen(listing, column, wanted && Math.max(NARROWEST, Math.min(wanted, WIDEST)));
  return (
    <div
      role="separator"
      class="divider"
      aria-orientation="vertical"
      aria-label={`width of ${title}`}
      aria-valuenow={Math.round(width)}
      aria-valuemin={NARROWEST}
      aria-valuemax={WIDEST}
      title="Drag, or press left and right: how wide the column is. Double click or Enter: as it was"
      tabIndex={isFirst ? 0 : -1}
      onPointerDown={(event) => dragged(event, put)}
      onDblClick={(event) => {
        event.stopPropagation();
        put(null);
      }}
      onKeyDown={(event) => {
        const change = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key];
        if (change) put(width + change);
        else if (event.key === "Enter") put(null);
        else if (event.key === "ArrowDown" || event.key === "ArrowUp") focusNext(event);
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}

type Pointing = PointerEvent & { readonly currentTarget: HTMLElement };

/** Follow the pointer until it is let go. */
function dragged(event: Pointing, put: (width: number) => void): void {
  const divider = event.currentTarget;
  const start = event.clientX + (divider.parentElement?.offsetWidth ?? 0);
  const move = ({ clientX }: PointerEvent): void => put(start - clientX);
  divider.setPointerCapture(event.pointerId);
  divider.addEventListener("pointermove", move);
  const end = (): void => divider.removeEventListener("pointermove", move);
  divider.addEventListener("lostpointercapture", end, { once: true });
  event.preventDefault();
}

function focusNext({ key, currentTarget }: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const all = [...(currentTarget.closest(".headers")?.querySelectorAll<HTMLElement>(".divider") ?? [])];
  all.at((all.indexOf(currentTarget) + (key === "ArrowDown" ? 1 : -1)) % all.length)?.focus();
}

interface SortProps {
  readonly state: TableState;
  readonly title: string;
  readonly help: string;
  readonly order: Order;
  readonly orderBy: Order;
}

function SortButton({ state, title, help, order, orderBy }: SortProps) {
  const isChosen = order === orderBy;
  return (
    <button
      type="button"
      class={isChosen ? "sort chosen" : "sort"}
      title={`${help}; click to order by it`}
      onClick={() => state.store.set({ orderBy: order })}
    >
      {title}
      {isChosen && <span aria-hidden="true">{order === "name" ? " ▴" : " ▾"}</span>}
    </button>
  );
}

/** Fold all, unfold all, or unfold so far. */
function Folding({ state, listing }: { readonly state: TableState; readonly listing: Listing }) {
  const { rule } = state.reading(listing.view);
  const base = listing.top < 0 ? 0 : (listing.outline.level[listing.top] as number);
  const to = (rule: Rule) => () => state.foldBy(listing, rule);
  return (
    <span class="folding">
      <button type="button" title="fold all" aria-label="fold all" onClick={to({ level: base + 1 })}>
        −
      </button>
      <button type="button" title="unfold all" aria-label="unfold all" onClick={to(EVERYTHING)}>
        +
      </button>
      <select
        aria-label="unfold to depth"
        title="how far the tree is unfolded"
        onChange={({ currentTarget: { value } }) => state.foldBy(listing, ruleOf(value, base))}
      >
        <option value="cost" selected={"share" in rule}>
          costs ≥ 5 %
        </option>
        {DEPTHS.map((depth) => (
          <option key={depth} value={depth} selected={"level" in rule && rule.level === base + depth}>
            to depth {depth}
          </option>
        ))}
        <option value="all" selected={rule === EVERYTHING}>
          all
        </option>
      </select>
    </span>
  );
}

function ruleOf(choice: string, base: number): Rule {
  if (choice === "cost") return TELLING;
  return choice === "all" ? EVERYTHING : { level: base + Number(choice) };
}

/** What a row is, beside what it says. */
export interface RowState {
  readonly isActive: boolean;
  readonly isSelected: boolean;
  /** Whether nodes of it are behind the selection, or only of what is folded away below it. */
  readonly linked: "itself" | "below" | "";
  readonly isMatch: boolean;
}

interface RowProps extends RowState {
  readonly listing: Listing;
  readonly columns: readonly TableColumn[];
  readonly position: number;
  readonly wanted: string;
}

// Pixels a level; deep down less, or nothing would be left of the names.
const INDENTATION = 14;
const DEEP = 6;
const DEEP_INDENTATION = 5;
const DEEPEST = 18;

/** A row; `position` is its place among the rows that are seen. */
export function TableRow({ listing, columns, position, wanted, ...state }: RowProps) {
  const { outline, folded, seen, top } = listing;
  const row = seen[position] as number;
  const level = (outline.level[row] as number) - (top < 0 ? 0 : (outline.level[top] as number));
  const isParent = outline.isParent[row] === 1;
  return (
    <div
      role="row"
      id={`row-${position}`}
      class={classOf(state)}
      data-position={position}
      aria-level={level + 1}
      aria-rowindex={position + 2}
      aria-expanded={isParent ? !folded[row] : undefined}
      aria-selected={state.isSelected}
    >
      <div
        role="rowheader"
        class="name"
        style={{ paddingInlineStart: `${4 + indentation(level)}px` }}
        title={visible(listing.view.name(row))}
      >
        <span class="twist" aria-hidden="true">
          {isParent ? (folded[row] ? "▸" : "▾") : ""}
        </span>
        <Name listing={listing} row={row} wanted={state.isMatch ? wanted : ""} />
        {isParent && position > 0 && (
          <span class="zoom" title="Show this alone (z)" aria-hidden="true">
            ⤢
          </span>
        )}
      </div>
      {columns.map((column) => (
        <Cell key={column.key} column={column} row={row} listing={listing} />
      ))}
    </div>
  );
}

function classOf({ isActive, linked, isMatch }: RowState): string {
  return `row${isActive ? " active" : ""}${linked ? ` linked-${linked}` : ""}${isMatch ? " match" : ""}`;
}

function Cell({
  column,
  row,
  listing,
}: {
  readonly column: TableColumn;
  readonly row: number;
  readonly listing: Listing;
}) {
  const { key, isText, text, full } = column;
  const shown = text(row);
  const kind = `cell ${key === "share" || shown === "–" ? "dim " : ""}${isText ? "text" : ""}`;
  if (key !== "total") {
    return (
      <div role="gridcell" class={kind} title={full(row)}>
        {shown}
      </div>
    );
  }
  const [own, total] = [listing.own[row] as number, listing.total[row] as number];
  return (
    <div role="gridcell" class={`${kind} barred`} title={full(row)}>
      <span
        class="meter"
        style={{
          "--own-part": partOf(Math.min(own, total), listing.whole),
          "--total-part": partOf(listing.view.kind === "op" ? own : total, listing.whole),
        }}
      >
        {shown}
      </span>
    </div>
  );
}

/** The name as far as the row above does not say it, with what was searched for, and what else there is to say. */
function Name({
  listing,
  row,
  wanted,
}: {
  readonly listing: Listing;
  readonly row: number;
  readonly wanted: string;
}) {
  const { view, regions } = listing;
  const library = regions?.label(row);
  if (library) {
    const count = regions?.frames[row] as number;
    return (
      <span class="label dim">
        <span class="last">
          … {count === 1 ? "a frame" : `${count.toLocaleString("en")} frames`} of {library}
        </span>
      </span>
    );
  }
  const name = visible(shownName(listing, row));
  const slash = view.kind === "code" ? 0 : name.lastIndexOf("/") + 1;
  const aside = view.kind === "code" ? sourceOfRow(view, row) : secondary(view, row);
  return (
    <span class="label">
      {slash > 0 && (
        <span class="scopes">
          <Marked text={name.slice(0, slash)} wanted={wanted} />
        </span>
      )}
      <span class="last">
        <Marked text={name.slice(slash)} wanted={wanted.slice(wanted.lastIndexOf("/") + 1)} />
      </span>
      {aside && <span class={view.kind === "code" ? "aside source" : "aside"}>{aside}</span>}
    </span>
  );
}

function Marked({ text, wanted }: { readonly text: string; readonly wanted: string }) {
  const [before, match, after] = cutAtMatch(text, wanted);
  return (
    <>
      {before}
      {match && <mark>{match}</mark>}
      {after}
    </>
  );
}

function indentation(level: number): number {
  const deep = Math.max(0, Math.min(level, DEEPEST) - DEEP);
  return INDENTATION * Math.min(level, DEEP) + DEEP_INDENTATION * deep;
}

function shownName({ view, outline }: Listing, row: number): string {
  const name = view.kind === "op" ? plainType(view.name(row)) : view.name(row);
  const up = outline.above[row] as number;
  if (up < 0 || view.kind !== "scope") return name;
  const above = `${view.name(up)}/`;
  return name.startsWith(above) ? name.slice(above.length) : name;
}

function partOf(value: number, whole: number): string {
  return `${whole > 0 ? Math.min(100, Math.max(0, (100 * value) / whole)).toFixed(2) : 0}%`;
}
