// The picture of the graph: buttons, canvas, what is said of the box that the keys are at, and the legend.

import { useEffect, useRef } from "preact/hooks";
import { LEGEND_STEPS, mostOf, strengthOf } from "../../analysis/graph_drawing.ts";
import { amountOf, FILLS, sentenceOf, wordsOf } from "../../analysis/graph_words.ts";
import { share, shortTime, visible } from "../../lib/format.ts";
import { type GraphPicture, graphPictureOf } from "../../state/graph_picture.ts";
import { GRAPH_READINGS, type Store } from "../../state/store.ts";
import { Segments } from "../../ui/tables.tsx";
import { followSearch, Tool } from "../../ui/toolbar.tsx";
import { SelectionPanel } from "../selection.tsx";
import {
  bringIntoSight,
  findInPicture,
  followGraphPointer,
  goToBox,
  onGraphKey,
  type SheetSize,
  showWholePicture,
  zoomPicture,
} from "./graph_actions.ts";
import { paintGraph } from "./graph_paint.ts";
import { WhatIfPanel } from "./what_if.tsx";

const NARROW = 640;
const MOST_ON_PATH = 6;

/** The graph as boxes that open and close. */
export function GraphPanel({ store }: { readonly store: Store }) {
  const state = graphPictureOf(store);
  const section = useRef<HTMLElement>(null);
  const sheet = useRef<HTMLDivElement>(null);
  const size = (): SheetSize => ({
    width: sheet.current?.clientWidth ?? 1,
    height: sheet.current?.clientHeight ?? 1,
  });
  useEffect(() => {
    if (!section.current) return undefined;
    return followSearch(section.current, (by) => findInPicture(state, size(), by));
  }, [state]);
  return (
    <section ref={section} class="graph" aria-label="graph">
      <Toolbar state={state} size={size} />
      <div class="columns">
        <div class="first">
          <Sheet state={state} sheet={sheet} />
          <Sentence state={state} />
          <Legend state={state} />
        </div>
        <aside aria-label="selected boxes">
          <WhatIfPanel state={state} />
          <PathList state={state} size={size} />
          <SelectionPanel store={store} />
        </aside>
      </div>
    </section>
  );
}

/** The boxes with most time on the critical path, which lead to these. */
function PathList({ state, size }: ToolbarProps) {
  const { critical } = state.look.value;
  const { boxes } = state.scene.value;
  if (!critical) return null;
  const rows = boxes
    .map(({ box, isOpen }, at) => ({ box, at, micros: isOpen ? 0 : (critical.micros[at] as number) }))
    .filter(({ micros }) => micros > 0)
    .sort((one, other) => other.micros - one.micros)
    .slice(0, MOST_ON_PATH);
  if (!rows.length) return null;
  return (
    <section class="on-path" aria-label="critical path">
      <h3>On the critical path</h3>
      <table class="figures">
        <tbody>
          {rows.map(({ box, at, micros }) => (
            <tr key={box.key}>
              <th scope="row">
                <button
                  type="button"
                  title="Show it in the picture"
                  onClick={() => goToBox(state, size(), at)}
                >
                  {wordsOf(box, 0, "time")[0]}
                </button>
              </th>
              <td>{shortTime(micros)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface ToolbarProps {
  readonly state: GraphPicture;
  readonly size: () => SheetSize;
}

function Toolbar({ state, size }: ToolbarProps) {
  const matches = state.matches.value.length;
  return (
    <div class="tools">
      <Segments label="read the graph as" chosen={state.store.graphReading} choices={GRAPH_READINGS} />
      <Segments label="fill boxes by" chosen={state.fill} choices={FILLS} />
      <fieldset aria-label="zoom">
        <Tool name="zoom in" keys="+" act={() => zoomPicture(state, size(), 1.25)} text="+" />
        <Tool name="zoom out" keys="-" act={() => zoomPicture(state, size(), 0.8)} text="−" />
        <Tool name="fit" keys="f" act={() => showWholePicture(state)} text="fit" />
      </fieldset>
      {state.open.value.size > 0 && (
        <Tool name="close all boxes" keys="" act={() => state.closeAll()} text="close all" />
      )}
      {state.store.search.value.trim() && (
        <fieldset aria-label="found">
          <Tool name="previous found" keys="N" act={() => findInPicture(state, size(), -1)} text="‹" />
          <output aria-live="polite">{matches ? `${matches.toLocaleString("en")} nodes` : "none"}</output>
          <Tool name="next found" keys="n" act={() => findInPicture(state, size(), 1)} text="›" />
        </fieldset>
      )}
      <span class="hint">
        double click or Enter: open · arrows: along the edges · Space: select · drag: move · ctrl or ⌘ +
        wheel: zoom
      </span>
    </div>
  );
}

interface SheetProps {
  readonly state: GraphPicture;
  readonly sheet: { current: HTMLDivElement | null };
}

/** The painting, which follows the state by itself; what takes the keys has the box in words. */
function Sheet({ state, sheet }: SheetProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const place = sheet.current;
    if (!place || !canvas.current) return undefined;
    const sizes = new ResizeObserver(() => {
      state.isNarrow.value = place.clientWidth < NARROW;
    });
    sizes.observe(place);
    const unpaint = paintGraph(state, place, canvas.current);
    const unfollow = followGraphPointer(state, place);
    return () => {
      sizes.disconnect();
      unfollow();
      unpaint();
    };
  }, [state]);
  const selection = state.store.selection.value;
  useEffect(() => {
    if (sheet.current) showSelected(state, sheet.current);
  }, [state, selection]);
  const scene = state.scene.value;
  const at = state.cursor.value;
  const closed = scene.boxes.filter(({ isOpen }) => !isOpen).length;
  const nodes = state.boxes.value.whole.nodes.length.toLocaleString("en");
  const summary = `picture of a graph: ${closed} boxes for ${nodes} nodes`;
  return (
    <div class="sheet">
      <canvas ref={canvas} role="img" aria-label={summary} />
      <div
        ref={sheet}
        class="overlay"
        role="listbox"
        aria-label="boxes"
        tabIndex={0}
        onKeyDown={(event) => {
          const { clientWidth: width, clientHeight: height } = event.currentTarget;
          if (onGraphKey(state, { width, height }, event)) event.preventDefault();
        }}
      >
        <div class="spoken" role="option" aria-selected={at >= 0} tabIndex={-1}>
          {at >= 0 ? sentenceOf(scene, state.look.value, at) : "none chosen: the arrow keys choose one"}
        </div>
      </div>
    </div>
  );
}

/** Go to the box of what was selected elsewhere, such as a row of a table. */
function showSelected(state: GraphPicture, { clientWidth: width, clientHeight: height }: HTMLElement): void {
  const { selected } = state.look.peek();
  const [own, around] = [selected.lastIndexOf(2), selected.indexOf(1)];
  const at = own >= 0 ? own : around;
  const cursor = state.cursor.peek();
  if (at < 0 || (cursor >= 0 && selected[cursor] === 2)) return;
  state.cursorKey.value = state.scene.peek().boxes[at]?.box.key ?? "";
  bringIntoSight(state, { width, height }, at);
}

/** What the box at the cursor is, for all to read, and the rows of the tables that it stands for. */
function Sentence({ state }: { readonly state: GraphPicture }) {
  const scene = state.scene.value;
  const look = state.look.value;
  const hovered = look.hovered >= 0 ? look.hovered : look.cursor;
  const found = scene.boxes[hovered];
  if (!found) {
    return (
      <div class="said" aria-live="polite">
        <p class="dim">
          {scene.boxes.length
            ? "Click a box, or press an arrow key, to see what it is."
            : "There is no graph to draw: no node but constants and variables is known. Give a graph, or trace a run."}
        </p>
      </div>
    );
  }
  const [title] = wordsOf(found.box, 0, look.fill);
  const text = sentenceOf(scene, look, hovered);
  return (
    <div class="said" aria-live="polite">
      <p title={state.boxes.value.namesOf(found.box).slice(0, 12).map(visible).join("\n")}>
        <span>
          <b>{title}</b>
          {text.slice(title.length)}
        </span>
      </p>
    </div>
  );
}

function Legend({ state }: { readonly state: GraphPicture }) {
  const look = state.look.value;
  const scene = state.scene.value;
  const most = mostOf(scene, look.values);
  const closed = scene.boxes.filter(({ isOpen }) => !isOpen).length;
  const { aside } = state;
  return (
    <ul class="legend" aria-label="legend">
      {most > 0 &&
        LEGEND_STEPS.map((part) => (
          <li key={part}>
            <i style={{ "--strength": `${100 * strengthOf(part)}%` }} class="filled" />
            {part === 1
              ? `${amountOf(most, look.fill)}, ${share(most, look.whole)} of all`
              : amountOf(part * most, look.fill)}
          </li>
        ))}
      <li>
        edges: as wide as their bytes
        {scene.edges.some(({ sources, route }) => !sources.length && route.length) && "; dotted: control"}
      </li>
      {look.critical && (
        <li>
          <i class="critical" />
          on the critical path; faded: could end later
        </li>
      )}
      <li class="count">
        {closed.toLocaleString("en")} boxes for {state.boxes.value.whole.nodes.length.toLocaleString("en")}{" "}
        nodes
        {aside > 0 && ` · ${aside.toLocaleString("en")} constants, variables and reads aside`}
      </li>
    </ul>
  );
}
