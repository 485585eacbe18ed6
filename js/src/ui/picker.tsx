// One of a few, chosen for a panel.

import type { Signal } from "@preact/signals";

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
