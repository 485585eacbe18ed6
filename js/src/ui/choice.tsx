// One of several.

import { type ControlProps, change, described, useOption } from "./fields.tsx";

/** One of an option's choices. */
export function Choice(control: ControlProps) {
  const { option } = control;
  const chosen = useOption<string>(control).value;
  return (
    <div class="choice">
      <label for={`option-${option.name}`} title={option.help}>
        {option.name}
      </label>
      <select
        {...described(option)}
        onChange={(event) => change(control, event.currentTarget.value as typeof option.default)}
      >
        {option.choices?.map((each) => (
          <option key={each} value={each} selected={each === chosen}>
            {each}
          </option>
        ))}
      </select>
    </div>
  );
}
