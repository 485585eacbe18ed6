// Workers side by side: a row of the table of differences for each row of a view.

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { CATEGORY_COLOURS } from "../../analysis/op_categories.ts";
import {
  type ComparedPart,
  type ComparedRow,
  type Comparison,
  comparedColumns,
  compareWorkers,
} from "../../analysis/workers.ts";
import { VIEWS, type ViewName } from "../../data/protocol.ts";
import { MEASURES, type Measure } from "../../engine/measures.ts";
import { exact, short, visible } from "../../lib/format.ts";
import { selectionAfter } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
import { ScrollSideways, SelectField } from "../../ui/tables.tsx";

const MOST_ROWS = 25;
// Beside the picture, which shows all of them.
const MOST_COLUMNS = 12;
const PARTS: readonly ComparedPart[] = ["own", "total"];

/** The comparison, and what to compare by. */
export function CompareWorkers({ store }: { readonly store: Store }) {
  const { kind, measure, part, from } = store.kept("workers compared", () => ({
    kind: signal<ViewName>(store.table.peek()),
    measure: signal<Measure>("micros"),
    part: signal<ComparedPart>("own"),
    /** Of two workers the one that the other is measured against. */
    from: signal<0 | 1>(0),
  }));
  const { profile } = store.shown;
  const options = store.options.value;
  const found = useMemo(() => {
    const asked = { measure: measure.value, part: part.value, most: MOST_ROWS };
    try {
      return { comparison: compareWorkers(profile, kind.value, options, asked) };
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  }, [profile, options, kind.value, measure.value, part.value]);
  const { comparison } = found;
  const isPair = comparison?.workers.length === 2;
  return (
    <section aria-label="workers compared">
      <header>
        <h3>Workers compared</h3>
        <span class="pickers">
          <SelectField label="rows of" chosen={kind} choices={VIEWS} />
          <SelectField label="measure" chosen={measure} choices={MEASURES} />
          {kind.value !== "op" && <SelectField label="part" chosen={part} choices={PARTS} />}
          {isPair && (
            <button
              type="button"
              onClick={() => {
                from.value = from.value ? 0 : 1;
              }}
            >
              swap
            </button>
          )}
        </span>
      </header>
      {found.problem && <p role="note">Nothing to compare: {found.problem}.</p>}
      {comparison && (
        <ComparedTable
          store={store}
          comparison={comparison}
          measure={measure.value}
          order={orderOf(comparison, from.value)}
        />
      )}
      {comparison && comparison.workers.length > MOST_COLUMNS && (
        <p class="dim">
          The dots are all {comparison.workers.length} workers, the columns the {MOST_COLUMNS} with the most.
        </p>
      )}
      {comparison && comparison.others > 0 && (
        <p class="dim">{comparison.others.toLocaleString("en")} rows more differ less.</p>
      )}
    </section>
  );
}

/** The columns that there is room for: of a pair the one that is measured against first, else those with the most. */
function orderOf({ workers, whole }: Comparison, from: 0 | 1): readonly number[] {
  const all = [...workers.keys()];
  if (workers.length === 2) return [from, 1 - from];
  if (workers.length <= MOST_COLUMNS) return all;
  const largest = all.sort((one, other) => (whole.values[other] as number) - (whole.values[one] as number));
  return largest.slice(0, MOST_COLUMNS);
}

interface ComparedTableProps {
  readonly store: Store;
  readonly comparison: Comparison;
  readonly measure: Measure;
  /** The workers that have a column, in their order. */
  readonly order: readonly number[];
}

/** A row a row of the view, with the workers as dots and as numbers; its name selects it everywhere. */
function ComparedTable({ store, comparison: { workers, whole, rows }, measure, order }: ComparedTableProps) {
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

interface DotsProps {
  readonly values: readonly number[];
  readonly mean: number;
  /** What a dot says to the pointer. */
  readonly title: (index: number) => string;
}

/** More workers than there are colours are all of one. */
export const COLOURS = 6;

/** The colour of a worker among so many. */
function workerColour(index: number, of: number): string {
  return of > COLOURS ? "color-mix(in srgb, var(--own) 60%, transparent)" : `var(${CATEGORY_COLOURS[index]})`;
}

/** A dot a worker and a tick at the mean; the numbers stand beside it, so a screen reader passes it over. */
function Dots({ values, mean, title }: DotsProps) {
  const largest = Math.max(...values, 0);
  const place = (value: number): string => `${largest ? (100 * value) / largest : 0}%`;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return (
    <span class="dots" aria-hidden="true">
      <i class="range" style={{ insetInlineStart: place(least), inlineSize: place(most - least) }} />
      <i class="tick" style={{ insetInlineStart: place(mean) }} />
      {values.map((value, index) => (
        <i
          key={index}
          class="dot"
          title={title(index)}
          style={{ insetInlineStart: place(value), background: workerColour(index, values.length) }}
        />
      ))}
    </span>
  );
}
