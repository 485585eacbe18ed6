// All options that the panel of filters does not show at first, folded away.

import { useSignal } from "@preact/signals";
import { OPTIONS, type OptionDescription } from "../protocol.ts";
import type { Store } from "../store.ts";
import { Choice } from "./choice.tsx";
import { Choices, Flag } from "./choices.tsx";
import { Group } from "./group.tsx";
import { useLimits } from "./limits.ts";
import { NumberBox } from "./number_box.tsx";
import { type ControlProps, optionNamed } from "./option_state.ts";
import { RegexBox } from "./regex_box.tsx";
import { DEPTH, ORDER, REGEXES, THRESHOLDS } from "./usual_options.ts";

const USUAL = new Set([
  ...THRESHOLDS,
  DEPTH,
  ORDER,
  ...REGEXES.flatMap(([, names]) => names).map(optionNamed),
]);
const OTHERS = OPTIONS.filter((option) => !USUAL.has(option) && option.kind !== "text");
const GROUPS: readonly (readonly [title: string, options: readonly OptionDescription[]])[] = [
  ["More thresholds", OTHERS.filter(({ name }) => name.startsWith("min_"))],
  ["Counting and columns", OTHERS.filter(({ name }) => !name.startsWith("min_"))],
];

/** A line that opens to the controls. */
export function MoreOptions({ store }: { readonly store: Store }) {
  const isOpen = useSignal(false);
  return (
    <details
      open={isOpen.value}
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open;
      }}
    >
      <summary>All options ({OTHERS.length} more)</summary>
      <div class="more">
        {isOpen.value &&
          GROUPS.map(([title, options]) => (
            <Group key={title} title={title}>
              {options.map((option) => (
                <Field key={option.name} store={store} option={option} />
              ))}
            </Group>
          ))}
      </div>
    </details>
  );
}

/** The control that fits an option's kind. */
function Field(control: ControlProps) {
  switch (control.option.kind) {
    case "integer":
      return <Integer {...control} />;
    case "flag":
      return <Flag {...control} />;
    case "choice":
      return <Choice {...control} />;
    case "choices":
      return <Choices {...control} />;
    default:
      return <RegexBox {...control} />;
  }
}

function Integer(control: ControlProps) {
  return <NumberBox {...control} stops={useLimits(control).value.stops} />;
}
