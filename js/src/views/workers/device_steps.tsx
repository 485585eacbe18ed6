// The table of accelerators: what each did in a step, as a bar of compute, collectives, copies and nothing.

import { time } from "../../analysis/workers.ts";
import { deviceRows } from "../../analysis/workers_chart.ts";
import type { Accelerators } from "../../data/graphs.ts";
import { share, visible } from "../../lib/format.ts";
import { stepsOf, stepsShown } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
import { ScrollSideways } from "../../ui/tables.tsx";

const PARTS = ["compute", "collectives", "copies", "idle"] as const;
const HELP = [
  "a kernel runs that computes",
  "accelerators exchange what each of them has, and nothing computes",
  "data are copied to or from it, and nothing else runs",
  "nothing runs on it",
];

/** A row a device; nothing where none ran in the steps that are shown. */
export function DeviceTable({
  store,
  accelerators,
}: {
  readonly store: Store;
  readonly accelerators: Accelerators;
}) {
  const steps = stepsOf(stepsShown(store).value);
  const rows = deviceRows(accelerators, steps, store.shown.profile.stepWorkers);
  if (!rows.length) return null;
  const longest = Math.max(...rows.map(({ parts }) => sum(parts)));
  const count = Math.max(...rows.map((row) => row.count));
  return (
    <section aria-label="accelerators">
      <header>
        <h3>Accelerators</h3>
        <span class="dim">{count === 1 ? "1 step" : `mean of ${count.toLocaleString("en")} steps`}</span>
      </header>
      <ScrollSideways label="table of accelerators">
        <table class="figures devices">
          <caption>What each accelerator did in a step</caption>
          <thead>
            <tr>
              <th scope="col">accelerator</th>
              <th scope="col" class="picture">
                what it did
              </th>
              <th scope="col">step</th>
              {PARTS.map((part, at) => (
                <th key={part} scope="col" title={HELP[at]}>
                  <i class={part} /> {part}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, name, facts, parts }) => (
              <tr key={key}>
                <th scope="row" title={visible(facts)}>
                  {visible(name)}
                </th>
                <td class="picture" aria-hidden="true">
                  <span class="gauge" style={{ inlineSize: `${(100 * sum(parts)) / (longest || 1)}%` }}>
                    {PARTS.map((part, at) => (
                      <i
                        key={part}
                        class={part}
                        style={{ inlineSize: `${(100 * (parts[at] as number)) / (sum(parts) || 1)}%` }}
                      />
                    ))}
                  </span>
                </td>
                <td>{time(sum(parts))}</td>
                {parts.map((nanos, at) => (
                  <td key={PARTS[at]} title={time(nanos)}>
                    {nanos ? `${time(nanos)} · ${share(nanos, sum(parts))}` : "–"}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollSideways>
      {[...new Set(rows.map(({ facts }) => facts).filter(Boolean))].map((facts) => (
        <p key={facts} class="dim">
          {visible(facts)}
        </p>
      ))}
    </section>
  );
}

function sum(parts: readonly number[]): number {
  return parts.reduce((all, nanos) => all + nanos, 0);
}
