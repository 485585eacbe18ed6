// The charts beside the table: what is displayed now by op type, the scopes, and the steps.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { type ChartRows, chartRowsOf } from "../../analysis/chart_rows.ts";
import type { Store } from "../../state/store.ts";
import { afterPaint } from "../../ui/after_paint.ts";
import { CostChart } from "./cost_chart.tsx";
import { ScopeChart } from "./scope_chart.tsx";
import { StepChart } from "./step_chart.tsx";

/** The charts, which follow the table a paint later. */
export function Charts({ store }: { readonly store: Store }) {
  const panel = useSignal<ChartRows | null>(null);
  const later = useMemo(
    () =>
      afterPaint(() => {
        const { view } = store.evaluation.peek();
        panel.value = view && chartRowsOf(view, store.metric.peek(), store.selection.peek());
      }),
    [store, panel],
  );
  useSignalEffect(() => {
    // What the view follows from, and not the view: that is evaluated when the table is drawn.
    void [
      store.options.value,
      store.table.value,
      store.graph.value,
      store.metric.value,
      store.selection.value,
    ];
    later.ask();
  });
  useEffect(() => later.cancel, [later]);
  const shown = panel.value;
  return (
    <div class="charts">
      <CostChart store={store} panel={shown} />
      {shown && shown.scopes.length > 1 && <ScopeChart store={store} panel={shown} />}
      {shown && shown.steps.length > 1 && <StepChart store={store} rows={shown.steps} />}
    </div>
  );
}
