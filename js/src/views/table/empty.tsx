// What stands where the table would: the reason why there is none, and buttons that bring it back.

import { type EmptyTableReason, remedyFor, whyTableIsEmpty } from "../../analysis/emptiness.ts";
import type { Store } from "../../state/store.ts";

/** The reason and the ways out. */
export function EmptyTable({ store }: { readonly store: Store }) {
  const { reason, remedies } = why(store);
  const isNeeded = store.table.value !== "scope";
  return (
    <div class="empty">
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
