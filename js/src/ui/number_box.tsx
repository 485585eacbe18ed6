// A number to type: 5ms, 1.5k and the like; the arrow keys go from stop to stop.

import { signal, useComputed } from "@preact/signals";
import { neighbour } from "../lib/stops.ts";
import { grouped, readQuantity, spokenNumber, unitOf } from "../lib/typed_text.ts";
import { type ControlProps, fieldAttributes, setOption, useOption, useProblem } from "./fields.tsx";
import { ProblemNote } from "./problem.tsx";

interface Props extends ControlProps {
  readonly stops: readonly number[];
}

// By how many stops a key goes.
const STRIDES: Readonly<Record<string, number>> = { ArrowUp: 1, ArrowDown: -1, PageUp: 3, PageDown: -3 };
const NARROWEST = 4;

/** What is typed and not committed yet, and why it cannot be. */
interface Draft {
  readonly text: string;
  readonly refused?: string;
}

/** A label, the number and its unit; what is typed counts on Enter, and when the box is left. */
export function NumberField({ stops, ...control }: Props) {
  const { option } = control;
  const chosen = useOption<number>(control);
  const problem = useProblem(control).value;
  // Each value has its own draft: a change drops what was typed before it, and nothing that is typed after it.
  const box = useComputed(() => ({ value: chosen.value, draft: signal<Draft | null>(null) }));
  const { value } = box.value;
  const draft = box.value.draft.value;
  const unit = unitOf(option.name);
  const text = draft?.text ?? grouped(value);
  const reason = draft?.refused ?? problem;
  const type = (draft: Draft | null): void => {
    box.value.draft.value = draft;
  };
  const put = (number: number): void => {
    type(null);
    setOption(control, number);
  };
  const commit = (): void => {
    const draft = box.value.draft.value;
    if (!draft) return;
    const read = readQuantity(draft.text, unit, option.minimum ?? 0);
    if ("value" in read) put(read.value);
    else type({ ...draft, refused: read.reason });
  };
  const press = (event: KeyboardEvent): void => {
    const stride = STRIDES[event.key];
    const { value, draft } = box.value;
    if (stride) put(neighbour(stops, value, stride));
    else if (event.key === "Enter") commit();
    else if (event.key === "Escape" && draft.value) type(null);
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
          {...fieldAttributes(option, reason)}
          type="text"
          role="spinbutton"
          autocomplete="off"
          spellcheck={false}
          aria-valuenow={value}
          aria-valuemin={option.minimum ?? 0}
          aria-valuetext={spokenNumber(value, unit)}
          style={{ width: `calc(${Math.max(NARROWEST, text.length)}ch + 14px)` }}
          value={text}
          onInput={({ currentTarget }) => type({ ...draft, text: currentTarget.value })}
          onKeyDown={press}
          onBlur={commit}
          onFocus={(event) => event.currentTarget.select()}
        />
        <span class="unit" aria-hidden="true">
          {unit}
        </span>
      </div>
      <ProblemNote option={option} reason={reason} />
    </>
  );
}
