// The timeline: buttons, canvas, card, the line that tells the chosen slice, and what stands there instead if nothing ran.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { whyTimelineIsEmpty } from "../../analysis/emptiness.ts";
import { CATEGORY_COLOURS } from "../../analysis/op_categories.ts";
import { PARTS } from "../../analysis/spans.ts";
import { CATEGORIES } from "../../data/chart_words.ts";
import { ROLES } from "../../engine/layers.ts";
import type { Store } from "../../state/store.ts";
import { followSearch, Tool } from "../../ui/toolbar.tsx";
import {
  chooseHighlighted,
  chooseOnPath,
  chooseStep,
  followPointer,
  onTimelineKey,
  showAll,
  showGap,
  showMarked,
  togglePath,
  zoom,
} from "./actions.ts";
import { ChosenSlice, DetailsCard, MarkedRange } from "./chosen.tsx";
import { useText } from "./details.ts";
import { headHeight, heightOf } from "./geometry.ts";
import { canvasSizeOf, paintOnChange } from "./paint.ts";
import { type TimelineState, timelineStateOf } from "./state.ts";

/** All of a graph's executions in the chosen step or steps. */
export function Timeline({ store }: { readonly store: Store }) {
  const state = timelineStateOf(store);
  const section = useRef<HTMLElement>(null);
  const layout = state.layout.value;
  const hasSlices = layout.slices > 0;
  const isNothing = !state.range.value && !state.current.value;
  useLayoutEffect(() => state.settle(), [state, layout]);
  useEffect(() => {
    if (hasSlices && section.current)
      return followSearch(section.current, (by) => chooseHighlighted(state, by));
    return undefined;
  }, [state, hasSlices]);
  if (!hasSlices) return <EmptyTimeline state={state} />;
  return (
    <section ref={section} class="timeline" aria-label="timeline">
      <Toolbar state={state} />
      <TimelineCanvas state={state} summary={summaryOf(state)} />
      <div class="said" aria-live="polite">
        {isNothing ? (
          <p class="dim">Click a slice, or press an arrow key, to see what it is.</p>
        ) : (
          <>
            <MarkedRange state={state} />
            <ChosenSlice state={state} />
          </>
        )}
      </div>
      <ul class="legend" aria-label="colours">
        {legendOf(state).map(([name, colour]) => (
          <li key={name}>
            <i style={{ background: `var(${colour})` }} />
            {name}
          </li>
        ))}
        {state.showsPath.value && (
          <li>
            <i style={{ background: "var(--warning)" }} />
            {pathLegend(state)}
          </li>
        )}
        {layout.transfers > 0 && (
          <li>
            <i class="hatched" />
            transfer between devices
          </li>
        )}
      </ul>
    </section>
  );
}

// What the parts are called where they are not all of the timeline: "rest" are nodes without a role and Keras' loops.
const ABOVE: readonly (readonly [name: string, part: (typeof PARTS)[number]])[] = [
  ["Python", "python"],
  ["first run, tracing", "first"],
];

/** The colours that are there, by name. */
function legendOf(state: TimelineState): readonly (readonly [name: string, colour: string])[] {
  const passes = PARTS.slice(0, ROLES.indexOf("transfers")).map((part) => [part, `--${part}`] as const);
  const types = CATEGORIES.map((category, index) => [category, CATEGORY_COLOURS[index] ?? ""] as const);
  const isByType = !state.hasRoles.value || state.isByType.value;
  const above = state.hasCell.value ? ABOVE.map(([name, part]) => [name, `--${part}`] as const) : [];
  return [...(isByType ? types : passes), ...above];
}

/** The critical path is known of the replayed steps, which may be some of many. */
function pathLegend(state: TimelineState): string {
  const { step } = state.slices.value;
  const known = new Set(state.path.value.map((place) => step[state.executionAt(place)])).size;
  const all = state.layout.value.steps.length;
  const where = known < all ? `, known of ${known} of ${all} steps` : "";
  return `critical path${where}; faded: could end later`;
}

/** What there is to see, for who does not see it. */
function summaryOf(state: TimelineState): string {
  const { steps, slices, transfers } = state.layout.value;
  const devices = state.uses.value.map((use) => `${state.deviceName(use.device)}: ${useText(use)}`);
  const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
  const moved = transfers ? ` and ${transfers.toLocaleString("en")} transfers` : "";
  const executions = (slices - transfers).toLocaleString("en");
  const onPath = state.path.value.length.toLocaleString("en");
  const path = state.slack.value ? [`critical path: ${onPath} executions`] : [];
  return `timeline of ${executions} executions${moved} in ${count}. ${[...devices, ...path].join(". ")}`;
}

/** The painting, which follows the state by itself; `summary` says what is to be seen. */
function TimelineCanvas({ state, summary }: { readonly state: TimelineState; readonly summary: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!scroller.current || !canvas.current || !overlay.current) return;
    const stage = {
      overlay: overlay.current,
      scroller: scroller.current,
      frame: () => canvasSizeOf(stage.scroller),
    };
    const unpaint = paintOnChange(state, stage.scroller, canvas.current);
    const unfollow = followPointer(state, stage);
    return () => {
      unfollow();
      unpaint();
    };
  }, [state]);
  const height = headHeight(state.layout.value) + heightOf(state.rows.value);
  const current = state.current.value;
  return (
    <div class="stage">
      <div class="scroller" ref={scroller}>
        <div class="lanes" style={{ height: `${height}px` }}>
          <canvas ref={canvas} role="img" aria-label={summary} />
          <div
            ref={overlay}
            class="overlay"
            role="listbox"
            aria-label="slices"
            tabIndex={0}
            onKeyDown={(event) => {
              if (onTimelineKey(state, event)) event.preventDefault();
            }}
          >
            <div class="spoken" role="option" aria-selected={current !== null} tabIndex={-1}>
              {current ? state.nameAt(current) : "none chosen: the arrow keys choose one"}
            </div>
          </div>
        </div>
      </div>
      <DetailsCard state={state} />
    </div>
  );
}

/** The same as some keys do, for the pointer. */
function Toolbar({ state }: { readonly state: TimelineState }) {
  const highlighted = state.highlightedSlices.value;
  return (
    <div class="tools">
      <fieldset aria-label="zoom">
        <Tool name="zoom in" keys="w" act={() => zoom(state, 0.5)} text="+" />
        <Tool name="zoom out" keys="s" act={() => zoom(state, 2)} text="−" />
        <Tool name="fit" keys="f" act={() => showAll(state)} text="fit" />
        <Tool name="longest gap" keys="g" act={() => showGap(state)} text="gap" />
        {state.range.value && (
          <Tool name="zoom to what is marked" keys="m" act={() => showMarked(state)} text="marked" />
        )}
      </fieldset>
      {state.layout.value.steps.length > 1 && (
        <fieldset aria-label="steps">
          <Tool name="previous step" keys="[" act={() => chooseStep(state, -1)} text="‹" />
          step
          <Tool name="next step" keys="]" act={() => chooseStep(state, 1)} text="›" />
        </fieldset>
      )}
      {state.hasCell.value && (
        <Switch
          name="time"
          choices={["steps", "whole cell"]}
          chosen={state.isWholeCell.value ? 1 : 0}
          choose={(place) => {
            state.wantsCell.value = place === 1;
          }}
        />
      )}
      {state.hasRoles.value && (
        <Switch
          name="colours"
          choices={["pass", "op type"]}
          chosen={state.isByType.value ? 1 : 0}
          choose={(place) => {
            state.isByType.value = place === 1;
          }}
        />
      )}
      {state.slack.value && (
        <fieldset aria-label="critical path">
          <Tool
            name="critical path"
            keys="c"
            isOn={state.showsPath.value}
            act={() => togglePath(state)}
            text="critical path"
          />
          {state.showsPath.value && (
            <>
              <Tool name="previous on the path" keys="P" act={() => chooseOnPath(state, -1)} text="‹" />
              <Tool name="next on the path" keys="p" act={() => chooseOnPath(state, 1)} text="›" />
            </>
          )}
        </fieldset>
      )}
      {highlighted !== null && (
        <fieldset aria-label="found and selected">
          <Tool
            name="previous found or selected"
            keys="N"
            act={() => chooseHighlighted(state, -1)}
            text="‹"
          />
          {highlighted.toLocaleString("en")} of {state.layout.value.slices.toLocaleString("en")}
          <Tool name="next found or selected" keys="n" act={() => chooseHighlighted(state, 1)} text="›" />
        </fieldset>
      )}
      <span class="hint">
        drag: pan · shift + drag: mark · ctrl or ⌘ + wheel: zoom · keys: w s a d, arrows, Enter, f, g, m, [ ],
        n, c, p
      </span>
    </div>
  );
}

/** Two radio buttons that look like one segmented button. */
function Switch(props: {
  readonly name: string;
  readonly choices: readonly string[];
  readonly chosen: number;
  readonly choose: (place: number) => void;
}) {
  const { name, choices, chosen, choose } = props;
  return (
    <div class="segments" role="radiogroup" aria-label={name}>
      {choices.map((choice, place) => (
        <label key={choice}>
          <input
            type="radio"
            name={`timeline ${name}`}
            checked={place === chosen}
            onChange={() => choose(place)}
          />
          <span>{choice}</span>
        </label>
      ))}
    </div>
  );
}

/** The reason and the remedy. */
function EmptyTimeline({ state }: { readonly state: TimelineState }) {
  const { reason, remedy } = whyTimelineIsEmpty(state.profile.value, state.layout.value);
  return (
    <section class="timeline empty" aria-label="timeline">
      <p>
        <b>{reason}</b>
      </p>
      <p>{remedy}</p>
    </section>
  );
}
