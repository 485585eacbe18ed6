// The panel of many: workers side by side, and the tasks of a cluster with what goes between them.

import { hasSeveralWorkers } from "../../analysis/several_workers.ts";
import type { Store } from "../../state/store.ts";
import { ParameterTable } from "./balance.tsx";
import { CompareWorkers } from "./compare.tsx";
import { LinkTable } from "./links.tsx";
import { TaskTable } from "./tasks.tsx";
import { TransferTable } from "./transfers.tsx";

/** What there is to see of several workers, tasks and transfers; for one process alone why there is nothing. */
export function WorkersPanel({ store }: { readonly store: Store }) {
  const { cluster, profile } = store.shown;
  const isCompared = hasSeveralWorkers(profile);
  return (
    <div class="workers">
      {isCompared && <CompareWorkers store={store} />}
      {cluster && (
        <>
          <TaskTable cluster={cluster} />
          <ParameterTable cluster={cluster} />
          <LinkTable cluster={cluster} />
          <TransferTable store={store} cluster={cluster} />
          {cluster.notes.map((note) => (
            <p key={note} class="dim">
              {note}
            </p>
          ))}
        </>
      )}
      {!isCompared && !cluster && (
        <p>
          All that was recorded is one process's, and nothing went between devices.
          tfprof_widget.merge(profiles) puts several workers into one profile, and a run against a cluster has
          all its tasks.
        </p>
      )}
    </div>
  );
}
