// The line above the table, where there is something to say: what is zoomed into, and whose frames are shown.

import type { Listing } from "../../state/listing.ts";
import type { Store } from "../../state/store.ts";
import { type TableState, tableOf } from "../../state/table.ts";

/** The way back from what is zoomed into, and the switch for library frames in code view. */
export function ZoomPath({ store }: { readonly store: Store }) {
  const state = tableOf(store);
  const listing = state.listing.value;
  if (!listing) return null;
  const { view, top } = listing;
  return (
    <div class="strip">
      {top >= 0 ? <Path state={state} listing={listing} /> : <span class="path" />}
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

function Path({ state, listing }: { readonly state: TableState; readonly listing: Listing }) {
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
