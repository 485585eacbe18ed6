// All options that the panel of filters does not show at first, folded away.

import { useSignal } from "@preact/signals";
import { hasSeveralWorkers } from "../analysis/several_workers.ts";
import { workersAmong } from "../analysis/worker_names.ts";
import { OPTIONS, type OptionDescription } from "../data/protocol.ts";
import { asRegex } from "../lib/exactly.ts";
import type { Store } from "../state/store.ts";
import { ChoiceField } from "../ui/choice.tsx";
import { CheckboxField, FlagField } from "../ui/choices.tsx";
import { type ControlProps, optionNamed } from "../ui/fields.tsx";
import { FieldGroup } from "../ui/group.tsx";
import { useLimits } from "../ui/limits.ts";
import { NumberField } from "../ui/number_box.tsx";
import { RegexField } from "../ui/regex_box.tsx";
import { DEPTH, ORDER, REGEXES, THRESHOLDS } from "./usual_options.ts";

const WORKERS = optionNamed("worker_regexes");
const ACROSS = optionNamed("across_workers");
const USUAL = new Set([
  WORKERS,
  ACROSS,
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

/** What is there for several workers only, and a line that opens to all other controls. */
export function OtherOptions({ store }: { readonly store: Store }) {
  return (
    <>
      {hasSeveralWorkers(store.shown.profile) && <OfWorkers store={store} />}
      <Folded store={store} />
    </>
  );
}

function OfWorkers({ store }: { readonly store: Store }) {
  const workers = workersAmong(store.shown.profile.stepWorkers);
  return (
    <FieldGroup title="Workers (regex)">
      <RegexField store={store} option={WORKERS} completions={workers.map(asRegex)} />
      <ChoiceField store={store} option={ACROSS} />
    </FieldGroup>
  );
}

function Folded({ store }: { readonly store: Store }) {
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
            <FieldGroup key={title} title={title}>
              {options.map((option) => (
                <Field key={option.name} store={store} option={option} />
              ))}
            </FieldGroup>
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
      return <FlagField {...control} />;
    case "choice":
      return <ChoiceField {...control} />;
    case "choices":
      return <CheckboxField {...control} />;
    default:
      return <RegexField {...control} />;
  }
}

function Integer(control: ControlProps) {
  return <NumberField {...control} stops={useLimits(control).value.stops} />;
}
