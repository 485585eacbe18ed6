// A number to type: 5ms, 1.5k and the like; the arrow keys go from stop to stop.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { neighbour } from "../lib/stops.ts";
import { grouped, readQuantity, spoken, unitOf } from "../lib/typed_number.ts";
import { type ControlProps, change, described, useOption, useProblem } from "./option_state.ts";
import { Problem } from "./problem.tsx";

interface Props extends ControlProps {
  readonly stops: readonly number[];
}

// By how many stops a key goes.
const STRIDES: Readonly<Record<string, number>> = { ArrowUp: 1, ArrowDown: -1, PageUp: 3, PageDown: -3 };
const NARROWEST = 4;

/** A label, the number and its unit; what is typed counts on Enter, and when the box is left. */
export function NumberBox({ stops, ...control }: Props) {
  const { option } = control;
  const value = useOption<number>(control).value;
  const problem = useProblem(control).value;
  const draft = useSignal<string | null>(null);
  const refused = useSignal<string | null>(null);
  useEffect(() => {
    [draft.value, refused.value] = [null, null];
  }, [value]);
  const unit = unitOf(option.name);
  const text = draft.value ?? grouped(value);
  const reason = refused.value ?? problem;
  const put = (number: number): void => {
    [draft.value, refused.value] = [null, null];
    change(control, number);
  };
  const commit = (): void => {
    if (draft.value === null) return;
    const read = readQuantity(draft.value, unit, option.minimum ?? 0);
    if ("value" in read) put(read.value);
    else refused.value = read.reason;
  };
  const press = (event: KeyboardEvent): void => {
    const stride = STRIDES[event.key];
    if (stride !== undefined) {
      let next = value;
      for (let taken = 0; taken < Math.abs(stride); taken++)
        next = neighbour(stops, next, stride > 0 ? 1 : -1);
      put(next);
    } else if (event.key === "Enter") commit();
    else if (event.key === "Escape" && text !== grouped(value)) [draft.value, refused.value] = [null, null];
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <div class="number">
        <label id={`label-${option.name}`} for={`option-${option.name}`} title={option.help}>
          {option.name}
        </label>
        <input
          {...described(option, reason)}
          type="text"
          role="spinbutton"
          inputMode="text"
          autocomplete="off"
          spellcheck={false}
          aria-valuenow={value}
          aria-valuemin={option.minimum ?? 0}
          aria-valuetext={spoken(value, unit)}
          style={{ width: `calc(${Math.max(NARROWEST, text.length)}ch + 14px)` }}
          value={text}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onKeyDown={press}
          onBlur={commit}
          onFocus={(event) => event.currentTarget.select()}
        />
        <span class="unit" aria-hidden="true">
          {unit}
        </span>
      </div>
      <Problem option={option} reason={reason} />
    </>
  );
}
