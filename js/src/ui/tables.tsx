// Parts that panels share: a table that scrolls sideways, a list or a switch to choose from.

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
export function Segments<Value extends string>({
  label,
  chosen,
  choices,
  names,
}: PickerProps<Value> & { readonly names?: Readonly<Record<Value, string>> }) {
  return (
    <div class="segments" role="radiogroup" aria-label={label}>
      {choices.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name={label}
            value={each}
            checked={chosen.value === each}
            onChange={() => {
              chosen.value = each;
            }}
          />
          <span>{names?.[each] ?? each}</span>
        </label>
      ))}
    </div>
  );
}

/** What charts show. */
export function MetricSwitch({ store }: { readonly store: Store }) {
  return <Segments label="metric" chosen={store.metric} choices={METRICS} names={NAMES} />;
}
