// The head line: what was profiled, how it was measured, and the menu of exports.

import type { Store } from "../state/store.ts";
import { Lazy } from "../ui/lazy.tsx";

/** Title, facts and menu, and below them what the reader has to know before trusting the numbers. */
export function Head({ store }: { readonly store: Store }) {
  const graph = store.graphs.length ? store.shown : null;
  return (
    <>
      <header class="head">
        <h2>tfprof</h2>
        <span class="title">{store.title.value}</span>
        <ul class="facts">
          {graph?.facts.map(({ label, value, help }) => (
            <li key={label} title={help}>
              {label} <b>{value}</b>
            </li>
          ))}
        </ul>
        {graph && (
          <Lazy
            store={store}
            panel="ExportMenu"
            waiting={exportLater("the exports are being loaded")}
            lacking={exportLater}
          />
        )}
      </header>
      {graph && graph.notes.length > 0 && (
        <ul class="notes" aria-label="notes">
          {graph.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {graph?.cut && <Lazy store={store} panel="CutLine" waiting={null} lacking={() => null} />}
    </>
  );
}

/** The button of the exports while there are none. */
function exportLater(reason: string) {
  return (
    <button type="button" disabled title={reason}>
      Export <span aria-hidden="true">▾</span>
    </button>
  );
}
