// The charts beside a table: costs by op type, scopes, steps, and the roofline.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { type ChartRows, chartRowsOf, type ScopeRow, type StepRow } from "../../analysis/chart_rows.ts";
import type { CostRow } from "../../analysis/costs.ts";
import { type Roofline, rooflineOf } from "../../analysis/roofline.ts";
import { COST_TITLES, SCOPE_TITLES, SIZES, STATIC_TITLE, STEPS_TITLE } from "../../data/chart_words.ts";
import type { Metric } from "../../data/protocol.ts";
import type { View } from "../../engine/view.ts";
import { selectedNodes, selectionAfter } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
import { afterPaint, Skeleton } from "../../ui/lazy.tsx";
import { MetricSwitch } from "../../ui/tables.tsx";
import { Chart, type ChartMark } from "./chart.tsx";
import { RooflineChart } from "./roofline.tsx";

/** The charts, which follow the table a paint later; where there is no table, that of the op types alone. */
export function Charts({ store, isAlone = false }: { readonly store: Store; readonly isAlone?: boolean }) {
  const panel = useSignal<ChartRows | null>(null);
  const roofline = useSignal<Roofline | null>(null);
  const later = useMemo(
    () =>
      afterPaint(() => {
        const { view } = store.evaluation.peek();
        panel.value = view && chartRowsOf(view, store.metric.peek(), selectedNodes(store).peek());
        roofline.value = view && !isAlone ? shownRoofline(store, view) : null;
      }),
    [store, panel, roofline, isAlone],
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
      {shown && !isAlone && shown.scopes.length > 1 && <ScopeChart store={store} panel={shown} />}
      {shown && !isAlone && shown.steps.length > 1 && <StepChart store={store} rows={shown.steps} />}
      {roofline.value && <RooflineChart store={store} found={roofline.value} />}
    </div>
  );
}

/** The roofline of op types and layers; rows of trees are in each other, and of frames they are in several functions. */
function shownRoofline(store: Store, view: View): Roofline | null {
  if (view.kind !== "op" && view.kind !== "layers") return null;
  const [names, flags] = [store.selection.peek(), selectedNodes(store).peek()];
  const isLit = (row: number): boolean =>
    !names.length || names.includes(view.name(row)) || view.membersOf(row).some((node) => !!flags?.[node]);
  return rooflineOf(view, store.shown.profile, isLit);
}

const USUAL_BARS = 12;

/** The costs of what is displayed, or why there are none. */
function CostChart({ store, panel }: { readonly store: Store; readonly panel: ChartRows | null }) {
  const isStatic = panel?.isStatic ?? false;
  const title = isStatic ? STATIC_TITLE : COST_TITLES[store.metric.value];
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
    <div class="chart" style={{ minHeight: `${USUAL_BARS * SIZES.barHeight}px` }}>
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
      spec={byProcessor ? "costs_by_processor" : "costs"}
      data={data}
      height={marks.length * SIZES.barHeight}
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
  if (!store.evaluation.value.view?.kept) return "No row is shown: the table says why.";
  return "No shown row has a cost of its own: the costs are in hidden rows.";
}

/** Where in the model the cost is. */
function ScopeChart({
  store,
  panel: { scopes, metric },
}: {
  readonly store: Store;
  readonly panel: ChartRows;
}) {
  const data = useMemo(() => ({ scopes }), [scopes]);
  const levels = 1 + Math.max(...scopes.map(({ depth }) => depth));
  return (
    <section aria-label={SCOPE_TITLES[metric]}>
      <header>
        <h3>{SCOPE_TITLES[metric]}</h3>
      </header>
      <Chart
        store={store}
        spec="scopes"
        data={data}
        label={SCOPE_TITLES[metric]}
        marks={scopes.map((row) => scopeMark(row, levels, store))}
        height={levels * SIZES.levelHeight}
      />
    </section>
  );
}

function scopeMark(row: ScopeRow, levels: number, store: Store): ChartMark {
  const { scope } = row;
  return {
    key: `${row.depth} ${row.x0} ${row.name}`,
    lines: [
      ["scope", row.name],
      ["total", row.exact],
      ["of the whole", row.share],
    ],
    left: row.x0,
    top: row.depth / levels,
    width: row.x1 - row.x0,
    height: 1 / levels,
    isSelected: scope !== undefined && store.selection.value.includes(scope),
    choose:
      scope === undefined
        ? undefined
        : (adds) => {
            store.selection.value = scope ? selectionAfter(store.selection.value, scope, adds) : [];
          },
  };
}

const STEPS_HEIGHT = 72;

/** A bar a step. */
function StepChart({ store, rows }: { readonly store: Store; readonly rows: readonly StepRow[] }) {
  const data = useMemo(() => ({ steps: rows }), [rows]);
  const kinds = new Set(rows.map(({ kind }) => kind));
  return (
    <section aria-label={STEPS_TITLE}>
      <header>
        <h3>{STEPS_TITLE}</h3>
      </header>
      <Chart
        store={store}
        spec={kinds.size > 1 ? "steps_by_kind" : "steps"}
        data={data}
        label={STEPS_TITLE}
        marks={rows.map((row, index) => stepMark(row, index / rows.length, 1 / rows.length, store))}
        height={STEPS_HEIGHT}
      />
    </section>
  );
}

function stepMark(row: StepRow, left: number, width: number, store: Store): ChartMark {
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
