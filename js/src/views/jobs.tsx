// The tasks of jobs.

import type { Store } from "../state/store.ts";

/** The panel. */
export function JobsPanel({ store }: { readonly store: Store }) {
  return <p class="dim">{String(store.host.model.get("title"))}</p>;
}
