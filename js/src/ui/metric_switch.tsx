// By what the charts compare: time, memory, runs or the rate of float operations.

import { METRICS, type Metric } from "../data/protocol.ts";
import type { Store } from "../state/store.ts";

const NAMES: Readonly<Record<Metric, string>> = {
  time: "time",
  memory: "memory",
  count: "count",
  rate: "GFLOP/s",
};

/** A group of radio buttons that look like one segmented button. */
export function MetricSwitch({ store }: { readonly store: Store }) {
  return (
    <div class="segments" role="radiogroup" aria-label="metric">
      {METRICS.map((metric) => (
        <label key={metric}>
          <input
            type="radio"
            name="metric"
            value={metric}
            checked={store.metric.value === metric}
            onChange={() => {
              store.metric.value = metric;
            }}
          />
          <span>{NAMES[metric]}</span>
        </label>
      ))}
    </div>
  );
}
