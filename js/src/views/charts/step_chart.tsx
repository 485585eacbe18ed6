// The chart of step times; a click on a step shows that step alone.

import { useMemo } from "preact/hooks";
import type { StepRow } from "../../analysis/steps.ts";
import type { Store } from "../../state/store.ts";
import { Chart } from "./chart.tsx";
import type { ChartMark } from "./marks.tsx";

const HEIGHT = 72;

/** A bar a step. */
export function StepChart({ store, rows }: { readonly store: Store; readonly rows: readonly StepRow[] }) {
  const data = useMemo(() => ({ steps: rows }), [rows]);
  const kinds = new Set(rows.map(({ kind }) => kind));
  return (
    <section aria-label="Time by step">
      <header>
        <h3>Time by step</h3>
      </header>
      <Chart
        store={store}
        name="steps"
        spec={kinds.size > 1 ? "steps_by_kind" : "steps"}
        data={data}
        label="Time by step"
        marks={rows.map((row, index) => markOf(row, index / rows.length, 1 / rows.length, store))}
        height={HEIGHT}
      />
    </section>
  );
}

function markOf(row: StepRow, left: number, width: number, store: Store): ChartMark {
  const chosen = store.options.value.step;
  return {
    key: row.step,
    lines: [
      ["step", `step ${row.step}`],
      ["run", row.kind],
      ["first start to last end", row.span],
      ["op time", row.work],
    ],
    left,
    top: 0,
    width,
    height: 1,
    isSelected: chosen === row.number,
    choose: () => store.set({ step: chosen === row.number ? -1 : row.number }),
  };
}
