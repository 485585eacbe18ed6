// One of several, several of many, or yes and no.

import { type ControlProps, change, described, useOption } from "./option_state.ts";

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
