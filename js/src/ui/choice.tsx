// One of several.

import { type ControlProps, fieldAttributes, setOption, useOption } from "./fields.tsx";

/** One of an option's choices. */
export function ChoiceField(control: ControlProps) {
  const { option } = control;
  const chosen = useOption<string>(control).value;
  return (
    <div class="choice">
      <label for={`option-${option.name}`} title={option.help}>
        {option.name}
      </label>
      <select
        {...fieldAttributes(option)}
        onChange={(event) => setOption(control, event.currentTarget.value as typeof option.default)}
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
