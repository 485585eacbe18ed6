// All options that the panel of filters does not show at first, folded away.

import { useSignal } from "@preact/signals";
import { hasSeveralWorkers } from "../analysis/several_workers.ts";
import { workersAmong } from "../analysis/worker_names.ts";
import { OPTIONS, type OptionDescription } from "../data/protocol.ts";
import { exactly } from "../lib/exactly.ts";
import type { Store } from "../state/store.ts";
import { Choice } from "../ui/choice.tsx";
import { Choices, Flag } from "../ui/choices.tsx";
import { type ControlProps, optionNamed } from "../ui/fields.tsx";
import { Group } from "../ui/group.tsx";
import { useLimits } from "../ui/limits.ts";
import { NumberBox } from "../ui/number_box.tsx";
import { RegexBox } from "../ui/regex_box.tsx";
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
export function MoreOptions({ store }: { readonly store: Store }) {
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
    <Group title="Workers (regex)">
      <RegexBox store={store} option={WORKERS} completions={workers.map(exactly)} />
      <Choice store={store} option={ACROSS} />
    </Group>
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
