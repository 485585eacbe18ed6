// A number to drag, with a box to type it: the slider goes from stop to stop, the box takes any value.

import { type ReadonlySignal, signal, useComputed } from "@preact/signals";
import { OPTION_HELP } from "../data/option_help.ts";
import type { OptionDescription } from "../data/protocol.ts";
import { isMeasure, type Measure, type Measures } from "../engine/measures.ts";
import type { Tree } from "../engine/tree.ts";
import {
  countsAt,
  depthStops,
  grouped,
  nearestStop,
  neighbour,
  readQuantity,
  spokenNumber,
  thresholdStops,
  unitOf,
} from "../lib/typed_text.ts";
import { meanOf, stepsOf, stepsShown } from "../state/selection.ts";
import type { Store } from "../state/store.ts";
import {
  type ControlProps,
  fieldAttributes,
  ProblemNote,
  setOption,
  useOption,
  usePerFrame,
  useProblem,
} from "./fields.tsx";

/** The box, and the slider below it with the spread of the nodes over its stops. */
export function Slider(control: ControlProps) {
  const { option } = control;
  const value = useOption<number>(control).value;
  const limits = useLimits(control).value;
  const move = usePerFrame((value: number) => setOption(control, value));
  const stop = nearestStop(limits.stops, value);
  const last = limits.stops.length - 1;
  // At the end all values do the same, so it may be the one that the widget was made with.
  const initial = control.store.initial[option.key] as number;
  const valueAt = (at: number): number => Math.max(limits.stops[at] as number, at === last ? initial : 0);
  return (
    <div class="slider">
      <NumberField {...control} stops={limits.stops} />
      <div class="track">
        <Spread limits={limits} from={stop} />
        <input
          type="range"
          aria-labelledby={`label-${option.name}`}
          aria-description={OPTION_HELP[option.key]}
          aria-valuetext={spokenNumber(value, unitOf(option.name))}
          title={OPTION_HELP[option.key]}
          min={0}
          max={last}
          step={1}
          value={stop}
          style={{ "--fill": `${(100 * stop) / Math.max(last, 1)}%` }}
          onInput={(event) => move(valueAt(event.currentTarget.valueAsNumber))}
          onChange={move.flush}
        />
      </div>
    </div>
  );
}

/** How many nodes there are along the slider, those that are kept in a stronger tone. */
function Spread({ limits: { counts }, from }: { readonly limits: Limits; readonly from: number }) {
  if (!counts) return null;
  const most = Math.log1p(counts.subarray(1, -1).reduce((one, other) => Math.max(one, other), 1));
  const bars = (first: number, end: number): string =>
    Array.from({ length: Math.max(end - first, 0) }, (_, index) => first + index)
      .map((stop) => `M${stop} 1V${1 - Math.log1p(counts[stop] as number) / most}h.9V1z`)
      .join("");
  const width = Math.max(counts.length - 1, 1);
  return (
    <svg class="spread" viewBox={`0 0 ${width} 1`} preserveAspectRatio="none" aria-hidden="true">
      <path class="dropped" d={bars(1, Math.min(from, width))} />
      <path d={bars(Math.max(from, 1), width)} />
    </svg>
  );
}

interface Props extends ControlProps {
  readonly stops: readonly number[];
}

// By how many stops a key goes.
const STRIDES: Readonly<Record<string, number>> = { ArrowUp: 1, ArrowDown: -1, PageUp: 3, PageDown: -3 };
const NARROWEST = 4;

/** What is typed and not committed yet, and why it cannot be. */
interface Draft {
  readonly text: string;
  readonly refused?: string;
}

/** A label, the number and its unit; what is typed counts on Enter, and when the box is left. */
export function NumberField({ stops, ...control }: Props) {
  const { option } = control;
  const chosen = useOption<number>(control);
  const problem = useProblem(control).value;
  // Each value has its own draft: a change drops what was typed before it, and nothing that is typed after it.
  const box = useComputed(() => ({ value: chosen.value, draft: signal<Draft | null>(null) }));
  const { value } = box.value;
  const draft = box.value.draft.value;
  const unit = unitOf(option.name);
  const mean = option.name === "step" && value < 0 && spokenMean(control.store);
  const text = draft?.text ?? grouped(value);
  const reason = draft?.refused ?? problem;
  const type = (draft: Draft | null): void => {
    box.value.draft.value = draft;
  };
  const put = (number: number): void => {
    type(null);
    setOption(control, number);
  };
  const commit = (): void => {
    const draft = box.value.draft.value;
    if (!draft) return;
    const read = readQuantity(draft.text, unit, option.minimum ?? 0);
    if ("value" in read) put(read.value);
    else type({ ...draft, refused: read.reason });
  };
  const press = (event: KeyboardEvent): void => {
    const stride = STRIDES[event.key];
    const { value, draft } = box.value;
    if (stride) put(neighbour(stops, value, stride));
    else if (event.key === "Enter") commit();
    else if (event.key === "Escape" && draft.value) type(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <div class="number">
        <label id={`label-${option.name}`} for={`option-${option.name}`} title={OPTION_HELP[option.key]}>
          {option.name}
        </label>
        <input
          {...fieldAttributes(option, reason)}
          type="text"
          role="spinbutton"
          autocomplete="off"
          spellcheck={false}
          aria-valuenow={value}
          aria-valuemin={option.minimum ?? 0}
          aria-valuetext={mean || spokenNumber(value, unit)}
          style={{ width: `calc(${Math.max(NARROWEST, text.length)}ch + 14px)` }}
          value={text}
          onInput={({ currentTarget }) => type({ ...draft, text: currentTarget.value })}
          onKeyDown={press}
          onBlur={commit}
          onFocus={(event) => event.currentTarget.select()}
        />
        <span class="unit" aria-hidden="true">
          {mean || unit}
        </span>
      </div>
      <ProblemNote option={option} reason={reason} />
    </>
  );
}

/** What a step of -1 stands for. */
export function spokenMean(store: Store): string {
  return meanOf(stepsOf(stepsShown(store).value).length);
}

/** Where a value can stand, and how many nodes stand at each stop or between it and the next. */
interface Limits {
  readonly stops: readonly number[];
  readonly counts: Float64Array | null;
}

/** The limits of an option in what is shown now; they stay the same while thresholds move. */
export function useLimits({ store, option }: ControlProps): ReadonlySignal<Limits> {
  const sums = useComputed(() => store.evaluation.value.view?.sums);
  return useComputed(() => {
    if (option.name === "step")
      return { stops: [...new Set([-1, ...store.shown.profile.steps])], counts: null };
    if (option.name === "max_depth") {
      return {
        stops: depthStops(deepest(sums.value?.forest.tree, store.table.value === "op")),
        counts: null,
      };
    }
    return thresholds(sums.value?.measures, measureOf(option));
  });
}

/** The measure that an option sets a threshold for. */
function measureOf({ name }: OptionDescription): Measure {
  const measure = name.replace("min_", "");
  return isMeasure(measure) ? measure : "runs";
}

function thresholds(measures: Measures | undefined, measure: Measure): Limits {
  if (!measures) return { stops: thresholdStops(1), counts: null };
  const column = measures.column(measure);
  const unit = measures.unit(measure);
  const stops = thresholdStops(column.reduce((sum, value) => sum + value, 0) / unit);
  return { stops, counts: countsAt(stops, column, unit) };
}

/** The `max_depth` that shows everything; in op view it counts op types. */
function deepest(tree: Tree | undefined, isFlat: boolean): number {
  if (!tree) return 1;
  return isFlat ? tree.size - 1 : tree.depth.reduce((most, depth) => Math.max(most, depth), 0) + 1;
}
