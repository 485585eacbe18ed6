// The line at the bottom: how many rows are kept, why there is no newer result, and what it was measured with.

import { isTable, type Store } from "../state/store.ts";

/** What the screen reader hears when options change, and the versions. */
export function Status({ store }: { readonly store: Store }) {
  return (
    <footer class="status">
      <span role="status">{isTable(store.tab.value) && kept(store)}</span>
      <span class="about">{String(store.host.model.get("_about") ?? "")}</span>
    </footer>
  );
}

function kept(store: Store): string {
  const { view, problem } = store.evaluation.value;
  const rows = view
    ? `${view.kept.toLocaleString("en")} of ${view.of.toLocaleString("en")} rows`
    : "no result";
  return problem ? [rows, problem.option, problem.reason].filter(Boolean).join(" · ") : rows;
}
