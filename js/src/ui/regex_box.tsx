// Regexes to type, separated by commas; what is no regex turns the box red and leaves the last good result.

import { useSignal } from "@preact/signals";
import { joinRegexes, splitRegexes } from "../lib/regex_list.ts";
import { useAfterPause } from "./deferred.ts";
import { type ControlProps, fieldAttributes, setOption, useOption, useProblem } from "./fields.tsx";
import { ProblemNote } from "./problem.tsx";

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
      <label for={`option-${option.name}`} title={option.help}>
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
