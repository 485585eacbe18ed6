// The icicle of scopes.

import { useMemo } from "preact/hooks";
import type { ChartRows } from "../../analysis/chart_rows.ts";
import type { ScopeRow } from "../../analysis/scopes.ts";
import type { Metric } from "../../data/protocol.ts";
import { selectionAfter } from "../../state/selecting.ts";
import type { Store } from "../../state/store.ts";
import { Chart } from "./chart.tsx";
import type { ChartMark } from "./marks.tsx";

const TITLES: Readonly<Record<Metric, string>> = {
  time: "Scopes by time",
  memory: "Scopes by bytes requested",
  count: "Scopes by runs",
  rate: "Scopes by float operations",
};
const SCOPE_HEIGHT = 22;

/** Where in the model the cost is. */
export function ScopeChart({
  store,
  panel: { scopes, metric },
}: {
  readonly store: Store;
  readonly panel: ChartRows;
}) {
  const data = useMemo(() => ({ scopes }), [scopes]);
  const levels = 1 + Math.max(...scopes.map(({ depth }) => depth));
  return (
    <section aria-label={TITLES[metric]}>
      <header>
        <h3>{TITLES[metric]}</h3>
      </header>
      <Chart
        store={store}
        name="scopes"
        spec="scopes"
        data={data}
        label={TITLES[metric]}
        marks={scopes.map((row) => markOf(row, levels, store))}
        height={levels * SCOPE_HEIGHT}
      />
    </section>
  );
}

function markOf(row: ScopeRow, levels: number, store: Store): ChartMark {
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
