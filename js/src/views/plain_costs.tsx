// The costs by op type as plain text, where nothing that draws could be loaded.

import { evaluate } from "../engine/evaluate.ts";
import type { View } from "../engine/view.ts";
import { short } from "../lib/format.ts";
import type { Store } from "../state/store.ts";

const MOST_ROWS = 12;

/** The costliest op types under the options of now, and why there is no chart of them. */
export function PlainCosts({ store, reason }: { readonly store: Store; readonly reason: string }) {
  const view = costsOf(store);
  const rows = Array.from({ length: Math.min(view?.rows ?? 0, MOST_ROWS) }, (_, row) => row);
  return (
    <section aria-label="costs by op type">
      <p class="dim" role="note">
        No charts: {reason}. The costliest op types:
      </p>
      <table class="costs" aria-label="costs by op type">
        <tbody>
          {view &&
            rows.map((row) => (
              <tr key={row}>
                <th scope="row">{view.name(row)}</th>
                <td>{short("micros", (view.own("micros")[row] as number) / view.unit("micros"))}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  );
}

function costsOf(store: Store): View | null {
  try {
    return evaluate(store.shown.profile, "op", { ...store.options.value, orderBy: "micros" });
  } catch {
    return null; // the control of the option says what is wrong
  }
}
