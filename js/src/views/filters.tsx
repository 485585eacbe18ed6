// The filters: the main options, all others, and the changed ones as chips.

import { signal } from "@preact/signals";
import { hasSeveralWorkers, workersAmong } from "../analysis/devices.ts";
import { sameValue } from "../data/options.ts";
import { OPTIONS, type OptionDescription, type Options } from "../data/protocol.ts";
import { asRegex } from "../lib/format.ts";
import { joinRegexes, spokenNumber, unitOf } from "../lib/typed_text.ts";
import type { Store } from "../state/store.ts";
import {
  CheckboxField,
  ChoiceField,
  type ControlProps,
  FieldGroup,
  FlagField,
  optionNamed,
  RegexField,
} from "../ui/fields.tsx";
import { NumberField, Slider, spokenMean, useLimits } from "../ui/slider.tsx";

const THRESHOLDS = ["min_micros", "min_bytes", "min_float_ops"].map(optionNamed);
const DEPTH = optionNamed("max_depth");
const ORDER = optionNamed("order_by");
const REGEXES = [
  ["Names (regex)", ["show_name_regexes", "hide_name_regexes", "start_name_regexes", "trim_name_regexes"]],
  ["Types, devices, runs (regex)", ["account_type_regexes", "device_regexes", "run_name_regexes"]],
] as const;

/** The panel, with the button that folds it and what undoes the changes. */
export function Filters({ store }: { readonly store: Store }) {
  const { filters } = store;
  const folded = filters.isFolded.value;
  const isColumn = !filters.isNarrow.value;
  const count = changedOptions(store).length;
  const isUndone = count > 0 && !(folded && isColumn);
  return (
    <section class="controls" aria-label="filters" data-folded={folded || undefined}>
      <div class="heading">
        <button
          type="button"
          aria-label={`filters${count ? `, ${count} changed` : ""}`}
          aria-expanded={!folded}
          aria-controls="filters"
          title={folded ? "Show the filters" : "Hide the filters"}
          onClick={() => filters.toggle()}
        >
          <span class="mark" aria-hidden="true">
            {isColumn ? "‹" : "▸"}
          </span>{" "}
          Filters
          {folded && isColumn && count > 0 && <sup aria-hidden="true">{count}</sup>}
        </button>
        {isUndone && <Reset store={store} />}
      </div>
      <div class="fields" id="filters" hidden={folded}>
        {!folded && <Fields store={store} />}
      </div>
      {isUndone && <Chips store={store} />}
    </section>
  );
}

function Fields({ store }: { readonly store: Store }) {
  const isFlat = store.table.value === "op";
  return (
    <>
      <FieldGroup title="Show nodes with at least">
        {THRESHOLDS.map((option) => (
          <Slider key={option.name} store={store} option={option} />
        ))}
      </FieldGroup>
      <FieldGroup title={isFlat ? "Rows" : "Tree"}>
        <Slider store={store} option={DEPTH} />
        <ChoiceField store={store} option={ORDER} />
      </FieldGroup>
      {REGEXES.map(([title, names]) => (
        <FieldGroup key={title} title={title}>
          {names.map((name) => (
            <RegexField key={name} store={store} option={optionNamed(name)} />
          ))}
        </FieldGroup>
      ))}
      <OtherOptions store={store} />
    </>
  );
}

const WORKERS = optionNamed("worker_regexes");
const ACROSS = optionNamed("across_workers");
const MAIN_OPTIONS = new Set([
  WORKERS,
  ACROSS,
  ...THRESHOLDS,
  DEPTH,
  ORDER,
  ...REGEXES.flatMap(([, names]) => names).map(optionNamed),
]);
const OTHERS = OPTIONS.filter((option) => !MAIN_OPTIONS.has(option) && option.kind !== "text");
const GROUPS: readonly (readonly [title: string, options: readonly OptionDescription[]])[] = [
  ["More thresholds", OTHERS.filter(({ name }) => name.startsWith("min_"))],
  ["Counting and columns", OTHERS.filter(({ name }) => !name.startsWith("min_"))],
];

/** What is there for several workers only, and a line that opens to all other controls. */
function OtherOptions({ store }: { readonly store: Store }) {
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
  const isOpen = store.kept("all options", () => signal(false));
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

/** A button for each changed option. */
function Chips({ store }: { readonly store: Store }) {
  const changed = changedOptions(store);
  if (!changed.length) return null;
  return (
    <ul class="chips" aria-label="changed options">
      {changed.map((option) => {
        const value = store.options.value[option.key];
        const text = option.name === "step" && value === -1 ? spokenMean(store) : written(option, value);
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
function Reset({ store }: { readonly store: Store }) {
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

/** The options whose value is not the one they started with. */
function changedOptions({ options, initial }: Store): readonly OptionDescription[] {
  return OPTIONS.filter(({ key }) => !sameValue(options.value[key], initial[key]));
}
