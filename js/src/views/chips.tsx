// What differs from the options the widget was made with, each to be undone by itself or all at once.

import type { OptionDescription, Options } from "../data/protocol.ts";
import { joinRegexes } from "../lib/regex_list.ts";
import { spokenNumber, unitOf } from "../lib/typed_text.ts";
import type { Store } from "../state/store.ts";
import { changedOptions } from "./changed_options.ts";

/** A button for each changed option. */
export function Chips({ store }: { readonly store: Store }) {
  const changed = changedOptions(store);
  if (!changed.length) return null;
  return (
    <ul class="chips" aria-label="changed options">
      {changed.map((option) => {
        const text = written(option, store.options.value[option.key]);
        return (
          <li key={option.name}>
            <button
              type="button"
              class="chip"
              aria-label={`undo ${text}`}
              title={`${text}: click to undo`}
              onClick={() => store.set({ [option.key]: store.initial[option.key] })}
            >
              <span>{text}</span>
              <span aria-hidden="true">×</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** The button that undoes all changes, if there are any. */
export function Reset({ store }: { readonly store: Store }) {
  if (!changedOptions(store).length) return null;
  return (
    <button
      type="button"
      class="reset"
      onClick={() => {
        store.options.value = store.initial;
      }}
    >
      reset all
    </button>
  );
}

function written({ name, kind }: OptionDescription, value: Options[keyof Options]): string {
  switch (kind) {
    case "integer":
      return `${name} ${spokenNumber(value as number, unitOf(name))}`;
    case "flag":
      return value ? name : `not ${name}`;
    case "regexes":
      return `${name} ${joinRegexes(value as readonly string[])}`;
    default:
      return `${name} ${String(value).replaceAll(",", ", ")}`;
  }
}
