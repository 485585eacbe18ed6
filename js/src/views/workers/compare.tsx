// Workers side by side: of the rows of a view those in which they differ most.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { type ComparedPart, type Comparison, compareWorkers } from "../../analysis/workers.ts";
import { VIEWS, type ViewName } from "../../data/protocol.ts";
import { MEASURES, type Measure } from "../../engine/measures.ts";
import type { Store } from "../../state/store.ts";
import { SelectField } from "../../ui/picker.tsx";
import { ComparedTable } from "./compared_table.tsx";

const MOST_ROWS = 25;
// Beside the picture, which shows all of them.
const MOST_COLUMNS = 12;
const PARTS: readonly ComparedPart[] = ["own", "total"];

/** The comparison, and what to compare by. */
export function CompareWorkers({ store }: { readonly store: Store }) {
  const kind = useSignal<ViewName>(store.table.peek());
  const measure = useSignal<Measure>("micros");
  const part = useSignal<ComparedPart>("own");
  const from = useSignal<0 | 1>(0);
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
