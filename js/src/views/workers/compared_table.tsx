// The table of workers side by side.

import { comparedColumns } from "../../analysis/compared_columns.ts";
import type { ComparedRow, Comparison } from "../../analysis/workers.ts";
import type { Measure } from "../../engine/measures.ts";
import { exact, short } from "../../lib/format.ts";
import { visible } from "../../lib/visible.ts";
import { selectionAfter } from "../../state/selecting.ts";
import type { Store } from "../../state/store.ts";
import { ScrollSideways } from "../../ui/tables.tsx";
import { COLOURS, Dots, workerColour } from "./dots.tsx";

interface ComparedTableProps {
  readonly store: Store;
  readonly comparison: Comparison;
  readonly measure: Measure;
  /** The workers that have a column, in their order. */
  readonly order: readonly number[];
}

/** A row a row of the view, with the workers as dots and as numbers; its name selects it everywhere. */
export function ComparedTable({
  store,
  comparison: { workers, whole, rows },
  measure,
  order,
}: ComparedTableProps) {
  const columns = comparedColumns(measure, workers.length, order[0] === 1 ? 1 : 0);
  const isPair = workers.length === 2;
  const heads = columns.map(({ title, help }) => (
    <th key={title} scope="col" title={help}>
      {title}
    </th>
  ));
  const figures = (compared: ComparedRow) =>
    columns.map(({ title, text }) => <td key={title}>{text(compared)}</td>);
  const row = (compared: ComparedRow) => (
    <>
      <td class="picture">
        <Dots
          values={compared.values}
          mean={compared.mean}
          title={(worker) =>
            `${visible(workers[worker] as string)}: ${short(measure, compared.values[worker] as number)}`
          }
        />
      </td>
      {!isPair && figures(compared)}
      {order.map((worker) => (
        <td key={worker} title={exact(measure, compared.values[worker] as number)}>
          {short(measure, compared.values[worker] as number)}
        </td>
      ))}
      {isPair && figures(compared)}
    </>
  );
  return (
    <ScrollSideways label="table of workers">
      <table class="figures">
        <caption>What workers take a step, those rows first in which they differ most</caption>
        <thead>
          <tr>
            <th scope="col">name</th>
            <th scope="col" class="picture" title="a dot a worker, from nothing to the row's largest">
              {workers.length > order.length ? `${workers.length} workers` : "workers"}
            </th>
            {!isPair && heads}
            {order.map((worker) => (
              <th key={worker} scope="col" title={visible(workers[worker] as string)}>
                {workers.length <= COLOURS && (
                  <i class="key" style={{ background: workerColour(worker, workers.length) }} />
                )}
                {visible(workers[worker] as string)}
              </th>
            ))}
            {isPair && heads}
          </tr>
        </thead>
        <tbody>
          <tr class="whole">
            <th scope="row">all</th>
            {row(whole)}
          </tr>
          {rows.map((compared, index) => (
            <tr key={index} data-selected={store.selection.value.includes(compared.name)}>
              <th scope="row" title={visible(compared.name)}>
                <button
                  type="button"
                  aria-pressed={store.selection.value.includes(compared.name)}
                  onClick={({ ctrlKey, metaKey }) => {
                    const adds = ctrlKey || metaKey;
                    store.selection.value = selectionAfter(store.selection.value, compared.name, adds);
                  }}
                >
                  {visible(compared.name)}
                </button>
              </th>
              {row(compared)}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollSideways>
  );
}
