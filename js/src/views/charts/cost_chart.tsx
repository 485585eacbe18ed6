// The chart of costs by op type, with the switch of what they are compared by.

import { useMemo } from "preact/hooks";
import type { ChartRows } from "../../analysis/chart_rows.ts";
import type { CostRow } from "../../analysis/cost_rows.ts";
import type { Metric } from "../../data/protocol.ts";
import { selectionAfter } from "../../state/selecting.ts";
import type { Store } from "../../state/store.ts";
import { Skeleton } from "../../ui/lazy.tsx";
import { MetricSwitch } from "../../ui/metric_switch.tsx";
import { Chart } from "./chart.tsx";
import type { ChartMark } from "./marks.tsx";

const TITLES: Readonly<Record<Metric, string>> = {
  time: "Time by op type",
  memory: "Bytes requested by op type",
  count: "Runs by op type",
  rate: "FLOP rate by op type",
};
const BAR_HEIGHT = 20;
const USUAL_BARS = 12;

/** The costs of what is displayed, or why there are none. */
export function CostChart({ store, panel }: { readonly store: Store; readonly panel: ChartRows | null }) {
  const isStatic = panel?.isStatic ?? false;
  const title = isStatic ? "Graph nodes by op type" : TITLES[store.metric.value];
  return (
    <section aria-label={title}>
      <header>
        <h3>
          {title}
          {panel?.whole && <small title="of the rows that are shown"> · {panel.whole}</small>}
        </h3>
        {isStatic ? <span class="dim">nothing was run</span> : <MetricSwitch store={store} />}
      </header>
      {panel ? <Bars store={store} panel={panel} label={title} /> : <Waiting />}
    </section>
  );
}

function Waiting() {
  return (
    <div class="chart" style={{ minHeight: `${USUAL_BARS * BAR_HEIGHT}px` }}>
      <Skeleton />
    </div>
  );
}

interface BarsProps {
  readonly store: Store;
  readonly panel: ChartRows;
  readonly label: string;
}

function Bars({ store, panel: { costs, byProcessor, metric }, label }: BarsProps) {
  const data = useMemo(() => ({ costs }), [costs]);
  if (!costs.length) return <p class="dim">{whyEmpty(store, metric)}</p>;
  const marks = marksOf(costs, store);
  return (
    <Chart
      store={store}
      name="costs"
      spec={byProcessor ? "costs_by_processor" : "costs"}
      data={data}
      height={marks.length * BAR_HEIGHT}
      label={label}
      marks={marks}
      areRows
    />
  );
}

/** A mark a bar, whatever pieces it has. */
function marksOf(rows: readonly CostRow[], store: Store): ChartMark[] {
  const selection = store.selection.value;
  const bars = rows.filter(({ label }) => label);
  return bars.map(({ name, op, share, nodes, runs }, index): ChartMark => {
    const pieces = rows.filter((row) => row.name === name);
    return {
      key: name,
      lines: [
        ["op type", name],
        ...pieces.map(({ part, exact }) => [part || "cost", exact] as const),
        ["of what is shown", share],
        ["graph nodes", nodes],
        ["runs", runs],
      ],
      left: 0,
      top: index / bars.length,
      width: 1,
      height: 1 / bars.length,
      isSelected: op !== undefined && selection.includes(op),
      choose:
        op === undefined
          ? undefined
          : (adds) => {
              store.selection.value = selectionAfter(store.selection.value, op, adds);
            },
    };
  });
}

function whyEmpty(store: Store, metric: Metric): string {
  const { profile } = store.shown;
  if (metric === "rate" && !profile.nodes.floatOps.some((count) => count > 0)) {
    return "No node has a FLOP formula or a known shape.";
  }
  return "No row that is shown has a cost of its own: raise max_depth, or lower the min_* options.";
}
