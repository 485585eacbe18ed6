// What a control has to know of its option: the value, and why it does not do.

import { type ReadonlySignal, useComputed } from "@preact/signals";
import { OPTIONS, type OptionDescription, type Options } from "../data/protocol.ts";
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
    title: option.help,
    "aria-description": option.help,
    ...(reason !== null && { "aria-invalid": true, "aria-errormessage": `problem-${option.name}` }),
  };
}
