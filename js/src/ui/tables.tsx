// Parts that panels share: a table that scrolls sideways, a list to choose from, the switch of metrics.

import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { METRICS, type Metric } from "../data/protocol.ts";
import type { Store } from "../state/store.ts";

/** Scrolls across, by the keyboard as well. */
export function ScrollSideways({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section class="wide" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

interface PickerProps<Value extends string> {
  readonly label: string;
  readonly chosen: Signal<Value>;
  readonly choices: readonly Value[];
}

/** A label and a list to choose from. */
export function SelectField<Value extends string>({ label, chosen, choices }: PickerProps<Value>) {
  return (
    <label class="picker">
      {label}{" "}
      <select
        onChange={({ currentTarget }) => {
          chosen.value = currentTarget.value as Value;
        }}
      >
        {choices.map((each) => (
          <option key={each} value={each} selected={each === chosen.value}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}

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
