// The timeline: buttons, canvas, card, the line that tells the chosen slice, and what stands there instead if nothing ran.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { whyTimelineIsEmpty } from "../../analysis/emptiness.ts";
import { CATEGORY_COLOURS } from "../../analysis/op_categories.ts";
import { CATEGORIES } from "../../data/chart_words.ts";
import { shortTime } from "../../lib/format.ts";
import type { Store } from "../../state/store.ts";
import {
  chooseHighlighted,
  chooseStep,
  followPointer,
  followSearchBox,
  onTimelineKey,
  showAll,
  showGap,
  showMarked,
  zoom,
} from "./actions.ts";
import { type Details, detailsOf, rangeText, useText } from "./details.ts";
import { headHeight, heightOf } from "./geometry.ts";
import { canvasSizeOf, paintOnChange } from "./paint.ts";
import { type TimelineState, timelineStateOf } from "./state.ts";

/** All of a graph's executions in the chosen step or steps. */
export function Timeline({ store }: { readonly store: Store }) {
  const state = timelineStateOf(store);
  const section = useRef<HTMLElement>(null);
  const layout = state.layout.value;
  const hasSlices = layout.slices > 0;
  useLayoutEffect(() => state.settle(), [state, layout]);
  useEffect(() => {
    if (hasSlices && section.current) return followSearchBox(state, section.current);
    return undefined;
  }, [state, hasSlices]);
  if (!hasSlices) return <EmptyTimeline state={state} />;
  return (
    <section ref={section} class="timeline" aria-label="timeline">
      <Toolbar state={state} />
      <TimelineCanvas state={state} summary={summaryOf(state)} />
      <ChosenLine state={state} />
      <ul class="legend" aria-label="colours">
        {CATEGORIES.map((category, index) => (
          <li key={category}>
            <i style={{ background: `var(${CATEGORY_COLOURS[index]})` }} />
            {category}
          </li>
        ))}
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

/** What there is to see, for who does not see it. */
function summaryOf(state: TimelineState): string {
  const { steps, slices, transfers } = state.layout.value;
  const devices = state.uses.value.map((use) => `${state.deviceName(use.device)}: ${useText(use)}`);
  const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
  const moved = transfers ? ` and ${transfers.toLocaleString("en")} transfers` : "";
  const executions = (slices - transfers).toLocaleString("en");
  return `timeline of ${executions} executions${moved} in ${count}. ${devices.join(". ")}`;
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

const DISTANCE = 12;

/** A card of text above everything else, so that neither widget nor notebook cuts it off; the pointer goes through it. */
function DetailsCard({ state }: { readonly state: TimelineState }) {
  const card = useRef<HTMLDivElement>(null);
  const { hovered, pointed } = state;
  const details = hovered.value && detailsOf(state, hovered.value);
  const isShown = details !== null;
  useLayoutEffect(() => {
    if (isShown) card.current?.showPopover?.();
  }, [isShown]);
  if (!details) return null;
  return (
    <div ref={card} class="card" popover="manual" aria-hidden="true" style={besides(pointed.value)}>
      <Told details={details} />
    </div>
  );
}

/** A slice's name, and below it what is known of it. */
function Told({ details: { name, facts } }: { readonly details: Details }) {
  return (
    <>
      <b>{name}</b>
      <dl>
        {facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** On the side of the pointer on which there is more room. */
function besides({ x, y }: { readonly x: number; readonly y: number }): Record<string, string> {
  const [width, height] = [document.documentElement.clientWidth, innerHeight];
  return {
    ...(x > width / 2 ? { right: `${width - x + DISTANCE}px` } : { left: `${x + DISTANCE}px` }),
    ...(y > height / 2 ? { bottom: `${height - y + DISTANCE}px` } : { top: `${y + DISTANCE}px` }),
  };
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
        drag: pan · shift + drag: mark · ctrl or ⌘ + wheel: zoom (wheel alone once focused) · keys: w s a d,
        arrows, Enter, f, g, m, [ ], n
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

/** What is chosen, in words. */
function ChosenLine({ state }: { readonly state: TimelineState }) {
  const current = state.current.value;
  const range = state.range.value;
  const details = current && detailsOf(state, current);
  return (
    <div class="said" aria-live="polite">
      {range && (
        <p>
          <b>{shortTime((range.to - range.from) / 1000)} marked</b>
          {state.usesOf(range).map((use) => (
            <span key={use.device}>
              {state.deviceName(use.device)}: {rangeText(use)}
            </span>
          ))}
        </p>
      )}
      {details && <Told details={details} />}
      {!range && !details && <p class="dim">Click a slice, or press an arrow key, to see what it is.</p>}
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
