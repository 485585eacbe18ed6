// The timeline's buttons: zoom, steps, and the slices that are searched for or selected.

import { chooseHighlighted, chooseStep, seeAll, seeGap, zoom } from "./actions.ts";
import type { TimelineState } from "./state.ts";

/** The same as some keys do, for the pointer. */
export function Toolbar({ state }: { readonly state: TimelineState }) {
  const meant = state.meantSlices.value;
  return (
    <div class="tools">
      <fieldset aria-label="zoom">
        <Tool name="zoom in" keys="w" act={() => zoom(state, 0.5)} text="+" />
        <Tool name="zoom out" keys="s" act={() => zoom(state, 2)} text="−" />
        <Tool name="fit" keys="f" act={() => seeAll(state)} text="fit" />
        <Tool name="longest gap" keys="g" act={() => seeGap(state)} text="gap" />
      </fieldset>
      {state.layout.value.steps.length > 1 && (
        <fieldset aria-label="steps">
          <Tool name="previous step" keys="[" act={() => chooseStep(state, -1)} text="‹" />
          step
          <Tool name="next step" keys="]" act={() => chooseStep(state, 1)} text="›" />
        </fieldset>
      )}
      {meant !== null && (
        <fieldset aria-label="found and selected">
          <Tool
            name="previous found or selected"
            keys="N"
            act={() => chooseHighlighted(state, -1)}
            text="‹"
          />
          {meant.toLocaleString("en")} of {state.layout.value.slices.toLocaleString("en")}
          <Tool name="next found or selected" keys="n" act={() => chooseHighlighted(state, 1)} text="›" />
        </fieldset>
      )}
      <span class="hint">
        drag: pan · shift + drag: mark · ctrl or ⌘ + wheel: zoom (wheel alone once focused) · keys: w s a d,
        arrows, Enter, f, g, [ ], n
      </span>
    </div>
  );
}

function Tool(props: {
  readonly name: string;
  readonly keys: string;
  readonly act: () => void;
  readonly text: string;
}) {
  const { name, keys, act, text } = props;
  return (
    <button type="button" aria-label={name} title={`${name} (${keys})`} onClick={act}>
      {text}
    </button>
  );
}
