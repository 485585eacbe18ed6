// The panel of filters: the options used most as sliders and regex boxes, then all the others.

import type { Store } from "../state/store.ts";
import { ChoiceField } from "../ui/choice.tsx";
import { optionNamed } from "../ui/fields.tsx";
import { FieldGroup } from "../ui/group.tsx";
import { Lazy } from "../ui/lazy.tsx";
import { RegexField } from "../ui/regex_box.tsx";
import { Slider } from "../ui/slider.tsx";
import { changedOptions } from "./changed_options.ts";
import type { Folding } from "./folding.ts";
import { DEPTH, ORDER, REGEXES, THRESHOLDS } from "./usual_options.ts";

interface Props {
  readonly store: Store;
  readonly folding: Folding;
}

/** The panel, with the button that folds it and what undoes the changes. */
export function Filters({ store, folding: { isFolded, isNarrow, toggle } }: Props) {
  const folded = isFolded.value;
  const isColumn = !isNarrow.value;
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
          onClick={toggle}
        >
          <span class="mark" aria-hidden="true">
            {isColumn ? "‹" : "▸"}
          </span>{" "}
          Filters
          {folded && isColumn && count > 0 && <sup aria-hidden="true">{count}</sup>}
        </button>
        {isUndone && <Lazy store={store} panel="Reset" waiting={null} lacking={nothing} />}
      </div>
      <div class="fields" id="filters" hidden={folded}>
        {!folded && <Fields store={store} />}
      </div>
      {isUndone && <Lazy store={store} panel="Chips" waiting={null} lacking={nothing} />}
    </section>
  );
}

function nothing() {
  return null;
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
      <Lazy store={store} panel="OtherOptions" waiting={null} />
    </>
  );
}
