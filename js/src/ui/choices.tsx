// Several of many, or yes and no.

import { type ControlProps, change, described, useOption } from "./fields.tsx";

/** Any of an option's choices, in the order in which they were chosen. */
export function Choices(control: ControlProps) {
  const { option } = control;
  const chosen = useOption<readonly string[]>(control).value;
  const toggle = (each: string): void => {
    const others = chosen.filter((other) => other !== each);
    change(control, (others.length < chosen.length ? others : [...chosen, each]) as typeof option.default);
  };
  return (
    <fieldset class="choices" {...described(option)}>
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
export function Flag(control: ControlProps) {
  const { option } = control;
  const value = useOption<boolean>(control).value;
  return (
    <label class="flag" title={option.help}>
      <input
        {...described(option)}
        type="checkbox"
        checked={value}
        onChange={(event) => change(control, event.currentTarget.checked)}
      />
      {option.name}
    </label>
  );
}
