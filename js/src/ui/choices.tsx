// Several of many, or yes and no.

import { type ControlProps, fieldAttributes, setOption, useOption } from "./fields.tsx";

/** Any of an option's choices, in the order in which they were chosen. */
export function CheckboxField(control: ControlProps) {
  const { option } = control;
  const chosen = useOption<readonly string[]>(control).value;
  const toggle = (each: string): void => {
    const others = chosen.filter((other) => other !== each);
    setOption(control, (others.length < chosen.length ? others : [...chosen, each]) as typeof option.default);
  };
  return (
    <fieldset class="choices" {...fieldAttributes(option)}>
      <legend>{option.name}</legend>
      {option.choices?.map((each) => (
        <label key={each}>
          <input type="checkbox" checked={chosen.includes(each)} onChange={() => toggle(each)} />
          {each}
        </label>
      ))}
    </fieldset>
  );
}

/** Whether or not. */
export function FlagField(control: ControlProps) {
  const { option } = control;
  const value = useOption<boolean>(control).value;
  return (
    <label class="flag" title={option.help}>
      <input
        {...fieldAttributes(option)}
        type="checkbox"
        checked={value}
        onChange={(event) => setOption(control, event.currentTarget.checked)}
      />
      {option.name}
    </label>
  );
}
