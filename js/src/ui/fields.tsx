// Controls of an option: choices, flags and regexes, each with the reason why its value does not do.

import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { OPTION_HELP } from "../data/option_help.ts";
import { OPTIONS, type OptionDescription, type Options } from "../data/protocol.ts";
import { joinRegexes, splitRegexes } from "../lib/typed_text.ts";
import type { Store } from "../state/store.ts";

/** What every control is given. */
export interface ControlProps {
  readonly store: Store;
  readonly option: OptionDescription;
}

/** An option by its name in Python. */
export function optionNamed(name: string): OptionDescription {
  const option = OPTIONS.find((each) => each.name === name);
  if (!option) throw new Error(`there is no option ${name}`);
  return option;
}

/** The value of an option; what reads it is drawn again only when this one changes. */
export function useOption<Value extends Options[keyof Options]>({
  store,
  option,
}: ControlProps): ReadonlySignal<Value> {
  return useComputed(() => store.options.value[option.key] as Value);
}

/** Why an option's value gives no result, null if it does. */
export function useProblem({ store, option }: ControlProps): ReadonlySignal<string | null> {
  return useComputed(() => {
    const { problem } = store.evaluation.value;
    return problem?.option === option.name ? problem.reason : null;
  });
}

/** Give an option a value. */
export function setOption({ store, option }: ControlProps, value: Options[keyof Options]): void {
  store.set({ [option.key]: value });
}

/** Name and help of a control, and, if something is wrong, where it says what. */
export function fieldAttributes(option: OptionDescription, reason: string | null = null) {
  return {
    id: `option-${option.name}`,
    title: OPTION_HELP[option.key],
    "aria-description": OPTION_HELP[option.key],
    ...(reason !== null && { "aria-invalid": true, "aria-errormessage": `problem-${option.name}` }),
  };
}

// The control itself shows what is refused.
const REFUSED = /^RE2 refuses "[\s\S]*": /;

/** Says the reason when there is one. */
export function ProblemNote({
  option,
  reason,
}: {
  readonly option: OptionDescription;
  readonly reason: string | null;
}) {
  return (
    <p class="problem" role="alert" id={`problem-${option.name}`}>
      {reason !== null && `${reason.replace(REFUSED, "")} · showing the last good result`}
    </p>
  );
}

/** A call that is put off; `flush` makes it now. */
interface Deferred<Value> {
  (value: Value): void;
  flush(): void;
}

/** When to make a call, and how to call that off. */
interface Timing {
  readonly begin: (call: () => void) => number;
  readonly end: (handle: number) => void;
}

const NEXT_FRAME: Timing = {
  begin: (call) => requestAnimationFrame(call),
  end: (handle) => cancelAnimationFrame(handle),
};
// Shorter than the pause between two letters of a slow typist, longer than that of a quick one.
const PAUSE_MILLISECONDS = 150;
const AFTER_PAUSE: Timing = {
  begin: (call) => window.setTimeout(call, PAUSE_MILLISECONDS),
  end: (handle) => window.clearTimeout(handle),
};

/** At most one call a painted frame. */
export function usePerFrame<Value>(call: (value: Value) => void): Deferred<Value> {
  return useDeferred(call, NEXT_FRAME);
}

/** One call when nothing came for a moment. */
function useAfterPause<Value>(call: (value: Value) => void): Deferred<Value> {
  return useDeferred(call, AFTER_PAUSE);
}

function useDeferred<Value>(call: (value: Value) => void, timing: Timing): Deferred<Value> {
  const put = useMemo(() => deferred(call, timing), []);
  useEffect(() => () => put.flush(), []);
  return put;
}

function deferred<Value>(call: (value: Value) => void, { begin, end }: Timing): Deferred<Value> {
  let waiting: { readonly value: Value; readonly handle: number } | null = null;
  const flush = (): void => {
    if (!waiting) return;
    const { value, handle } = waiting;
    end(handle);
    waiting = null;
    call(value);
  };
  const put = (value: Value): void => {
    if (waiting) end(waiting.handle);
    waiting = { value, handle: begin(flush) };
  };
  return Object.assign(put, { flush });
}

/** One of an option's choices. */
export function ChoiceField(control: ControlProps) {
  const { option } = control;
  const chosen = useOption<string>(control).value;
  return (
    <div class="choice">
      <label for={`option-${option.name}`} title={OPTION_HELP[option.key]}>
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
    <label class="flag" title={OPTION_HELP[option.key]}>
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

/** A label and the regexes in one line, which `completions` completes; an empty line stands for the default. */
export function RegexField(control: ControlProps & { readonly completions?: readonly string[] }) {
  const { option, completions } = control;
  const list = completions && `completions-${option.name}`;
  const regexes = useOption<readonly string[]>(control).value;
  const reason = useProblem(control).value;
  const draft = useSignal<string | null>(null);
  const commit = useAfterPause((line: string) => {
    const typed = splitRegexes(line);
    setOption(control, typed.length ? typed : option.default);
  });
  const leave = (): void => {
    commit.flush();
    draft.value = null;
  };
  return (
    <div class="regexes">
      <label for={`option-${option.name}`} title={OPTION_HELP[option.key]}>
        {option.name}
      </label>
      <input
        {...fieldAttributes(option, reason)}
        type="text"
        list={list}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        placeholder="none"
        value={draft.value ?? joinRegexes(regexes)}
        onInput={({ currentTarget: { value } }) => {
          draft.value = value;
          commit(value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") leave();
        }}
        onBlur={leave}
      />
      {completions && (
        <datalist id={list}>
          {completions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      <ProblemNote option={option} reason={reason} />
    </div>
  );
}

/** What the title says is true of all of them. */
export function FieldGroup({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  return (
    <fieldset class="group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}
