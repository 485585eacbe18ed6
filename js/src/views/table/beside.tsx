// What stands beside the rows of the tree grid: the path zoomed into, why there are none, what they leave out, the print.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import {
  type EmptyTableReason,
  hiding,
  leftOut,
  remedyFor,
  whyNoLine,
  whyTableIsEmpty,
} from "../../analysis/emptiness.ts";
import type { View } from "../../engine/view.ts";
import { shortTime, visible } from "../../lib/format.ts";
import type { Listing } from "../../state/listing.ts";
import { GRAPH_READINGS, isTable, type Store } from "../../state/store.ts";
import type { TableState } from "../../state/table.ts";
import { onPrint } from "../../ui/canvas.ts";
import { Segments } from "../../ui/tables.tsx";
import { tableColumns } from "./columns.ts";
import { ReadingSwitch } from "./source.tsx";

interface ListingProps {
  readonly state: TableState;
  readonly listing: Listing;
}

/** The way back from what is zoomed into, and the switch for library frames in code view. */
export function ZoomPath({ state, listing }: ListingProps) {
  const { view, top } = listing;
  if (top < 0 && view.kind !== "code" && view.kind !== "graph") return null;
  return (
    <div class="strip">
      {top >= 0 ? <Path state={state} listing={listing} /> : <span class="path" />}
      {view.kind === "code" && <ReadingSwitch store={state.store} />}
      {view.kind === "graph" && <GraphSwitch store={state.store} />}
      {view.kind === "code" && (
        <label title="show the frames of TensorFlow, Keras and other libraries one by one">
          <input
            type="checkbox"
            checked={!state.reading(view).isMerging}
            onChange={({ currentTarget: { checked } }) => state.merge(listing, !checked)}
          />
          framework frames
        </label>
      )}
    </div>
  );
}

/** Back to the picture, or why it cannot be shown; its code is asked for again each time that somebody looks. */
function GraphSwitch({ store }: { readonly store: Store }) {
  const { carried } = store.host;
  const { code, problem } = carried.arrived.value;
  const isPicture = store.graphReading.value === "picture";
  useEffect(() => {
    if (isPicture) void carried.ask();
  }, [carried, isPicture]);
  return (
    <>
      <Segments label="read the graph as" chosen={store.graphReading} choices={GRAPH_READINGS} />
      {isPicture && problem && !code && (
        <span class="dim" role="note">
          The picture of the graph cannot be shown: {problem}.
        </span>
      )}
    </>
  );
}

function Path({ state, listing }: ListingProps) {
  const { view, outline, top } = listing;
  const rows: number[] = [];
  for (let row = top; row >= 0; row = outline.above[row] as number) rows.unshift(row);
  return (
    <nav class="path" aria-label="zoomed into">
      {rows.map((row) =>
        row === top ? (
          <b key={row} aria-current="location">
            {lastPart(view.name(row))}
          </b>
        ) : (
          <span key={row}>
            <button type="button" title={view.name(row)} onClick={() => state.zoom(listing, row)}>
              {row === 0 ? "all" : lastPart(view.name(row))}
            </button>
            <span aria-hidden="true"> › </span>
          </span>
        ),
      )}
    </nav>
  );
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** What else the line at the bottom says: what the rows leave out, and whether Python is still there. */
export function LeftOut({ store }: { readonly store: Store }) {
  return (
    <>
      <HiddenRows store={store} />
      {!store.isHeard.value && (
        <span title="Its kernel was started again: run the cell once more.">Python no longer hears it</span>
      )}
    </>
  );
}

/** How many rows are hidden and what they cost, and what no row of the view can show. */
function HiddenRows({ store }: { readonly store: Store }) {
  const { view } = store.evaluation.value;
  if (!view || !isTable(store.tab.value) || store.isGraphDrawn.value) return null;
  const [hidden, placeless] = leftOut(view, "micros").map((value) => value / view.unit("micros"));
  const rows = view.of - view.kept;
  const parts = [
    rows > 0 && hiddenRows(view, rows, hidden as number),
    (placeless as number) > 0 &&
      `${view.kind === "code" ? "no line is known of" : "not in this tree:"} ${shortTime(placeless as number)} of ${shortTime(view.all("micros") / view.unit("micros"))}${view.kind === "code" ? whyNoLine(view) : ""}`,
  ].filter(Boolean);
  return parts.length ? <span class="left-out">{parts.join(" · ")}</span> : null;
}

function hiddenRows(view: View, rows: number, micros: number): string {
  const count = `${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}`;
  const time = micros > 0 ? ` with ${shortTime(micros)} of their own` : "";
  return `${count}${time} hidden by ${hiding(view).join(", ")}`;
}

/** The reason and the ways out. */
export function EmptyTable({ store }: { readonly store: Store }) {
  const { reason, remedies } = why(store);
  const isNeeded = store.table.value !== "scope";
  return (
    <div class="empty">
      {store.table.value === "code" && <ReadingSwitch store={store} />}
      {store.table.value === "graph" && <GraphSwitch store={store} />}
      <p>{reason}</p>
      <p>
        {remedies.map(({ label, changes }) => (
          <button type="button" key={label} onClick={() => store.set(changes)}>
            {label}
          </button>
        ))}
        {!remedies.length && isNeeded && (
          <button
            type="button"
            onClick={() => {
              store.tab.value = "scope";
            }}
          >
            show scopes
          </button>
        )}
      </p>
    </div>
  );
}

function why(store: Store): EmptyTableReason {
  const { view, problem } = store.evaluation.value;
  const found = view && whyTableIsEmpty(view);
  if (found) return found;
  const remedy = problem && remedyFor(problem.option);
  const reason = problem
    ? [problem.option, problem.reason].filter(Boolean).join(": ")
    : "There is nothing to show.";
  return { reason, remedies: remedy ? [remedy] : [] };
}

// Some ten pages.
const MOST_ROWS = 500;

/** The rows that are visible after folding, while the page is printed; on the screen nothing. */
export function PrintedTable({ listing }: { readonly listing: Listing }) {
  const isPrinting = useSignal(false);
  useEffect(() => {
    const print = (now: boolean) => (): void => {
      isPrinting.value = now;
    };
    return onPrint(print(true), print(false));
  }, [isPrinting]);
  return isPrinting.value ? <AllRows listing={listing} /> : null;
}

function AllRows({ listing }: { readonly listing: Listing }) {
  const { view, seen, outline } = listing;
  const columns = tableColumns(listing);
  const rows = [...seen.subarray(0, MOST_ROWS)];
  const more = seen.length - rows.length;
  return (
    <table class="printed">
      <thead>
        <tr>
          <th>name</th>
          {columns.map(({ key, title }) => (
            <th key={key}>{title}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row}>
            <th style={{ paddingInlineStart: `${0.8 * (outline.level[row] as number)}em` }}>
              {visible(nameOf(listing, row))}
            </th>
            {columns.map(({ key, text }) => (
              <td key={key}>{text(row)}</td>
            ))}
          </tr>
        ))}
        {more > 0 && (
          <tr>
            <th colSpan={1 + columns.length}>
              {more.toLocaleString("en")} more of {view.kept.toLocaleString("en")} rows
            </th>
          </tr>
        )}
      </tbody>
    </table>
  );
}

/** The name as far as the row above does not say it; of merged frames their library. */
function nameOf({ view, outline, regions }: Listing, row: number): string {
  const library = regions?.label(row);
  if (library) return `… ${regions?.frames[row]} frames of ${library}`;
  const name = view.name(row);
  const up = outline.above[row] as number;
  const above = view.kind === "scope" && up >= 0 ? `${view.name(up)}/` : "";
  return name.startsWith(above) ? name.slice(above.length) : name;
}
