// The panel of filters: the options used most as sliders and regex boxes, then all the others.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { OPTIONS, type OptionDescription } from "../protocol.ts";
import type { Store } from "../store.ts";
import { Chips, changedOptions, Reset } from "./chips.tsx";
import { Choice, Choices, Flag } from "./choice.tsx";
import type { Folding } from "./folding.ts";
import { useLimits } from "./limits.ts";
import { NumberBox } from "./number_box.tsx";
import { type ControlProps, optionNamed } from "./option_state.ts";
import { RegexBox } from "./regex_box.tsx";
import { Slider } from "./slider.tsx";

interface Props {
  readonly store: Store;
  readonly folding: Folding;
}

const THRESHOLDS = ["min_micros", "min_bytes", "min_float_ops"].map(optionNamed);
const DEPTH = optionNamed("max_depth");
const ORDER = optionNamed("order_by");
const REGEXES = [
  ["Names (regex)", ["show_name_regexes", "hide_name_regexes", "start_name_regexes", "trim_name_regexes"]],
  ["Types, devices, runs (regex)", ["account_type_regexes", "device_regexes", "run_name_regexes"]],
] as const;
const FIRST = new Set([
  ...THRESHOLDS,
  DEPTH,
  ORDER,
  ...REGEXES.flatMap(([, names]) => names).map(optionNamed),
]);
const OTHERS = OPTIONS.filter((option) => !FIRST.has(option) && option.kind !== "text");
const GROUPS: readonly (readonly [title: string, options: readonly OptionDescription[]])[] = [
  ["More thresholds", OTHERS.filter(({ name }) => name.startsWith("min_"))],
  ["Counting and columns", OTHERS.filter(({ name }) => !name.startsWith("min_"))],
];

/** The panel, with the button that folds it and what undoes the changes. */
export function Controls({ store, folding: { isFolded, isNarrow, toggle } }: Props) {
  const folded = isFolded.value;
  const isColumn = !isNarrow.value;
  const count = changedOptions(store).length;
  return (
    <section class="controls" aria-label="filters" data-folded={folded || undefined}>
      <div class="heading">
        <button
          type="button"
          aria-label={`filters${count ? `, ${count} changed` : ""}`}
          aria-expanded={!folded}
          aria-controls="filters"
          title={folded ? "Show the filters" : "Hide the filters"}
          onClick={toggle}
        >
          <span class="mark" aria-hidden="true">
            {isColumn ? "‹" : "▸"}
          </span>{" "}
          Filters
          {folded && isColumn && count > 0 && <sup aria-hidden="true">{count}</sup>}
        </button>
        {!(folded && isColumn) && <Reset store={store} />}
      </div>
      <div class="fields" id="filters" hidden={folded}>
        {!folded && <Fields store={store} />}
      </div>
      {!(folded && isColumn) && <Chips store={store} />}
    </section>
  );
}

function Fields({ store }: { readonly store: Store }) {
  const isFlat = store.table.value === "op";
  const isOpen = useSignal(false);
  return (
    <>
      <Group title="Show nodes with at least">
        {THRESHOLDS.map((option) => (
          <Slider key={option.name} store={store} option={option} />
        ))}
      </Group>
      <Group title={isFlat ? "Rows" : "Tree"}>
        <Slider store={store} option={DEPTH} />
        <Choice store={store} option={ORDER} />
      </Group>
      {REGEXES.map(([title, names]) => (
        <Group key={title} title={title}>
          {names.map((name) => (
            <RegexBox key={name} store={store} option={optionNamed(name)} />
          ))}
        </Group>
      ))}
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
    </>
  );
}

function Group({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <fieldset class="group">
      <legend>{title}</legend>
      {children}
    </fieldset>
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
