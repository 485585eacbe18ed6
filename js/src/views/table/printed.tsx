// The table as it is printed: all of its rows, so that they go on from page to page, below headers that come again.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { visible } from "../../lib/format.ts";
import type { Listing } from "../../state/listing.ts";
import type { Store } from "../../state/store.ts";
import { tableOf } from "../../state/table.ts";
import { onPrint } from "../../ui/canvas.ts";
import { tableColumns } from "./columns.ts";

// Some ten pages.
const MOST_ROWS = 500;

/** The rows that are visible after folding, while the page is printed; on the screen nothing. */
export function PrintedTable({ store }: { readonly store: Store }) {
  const isPrinting = useSignal(false);
  useEffect(() => {
    const print = (now: boolean) => (): void => {
      isPrinting.value = now;
    };
    return onPrint(print(true), print(false));
  }, [isPrinting]);
  const listing = isPrinting.value ? tableOf(store).listing.value : null;
  return listing && <Rows listing={listing} />;
}

function Rows({ listing }: { readonly listing: Listing }) {
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
