// Tells what is selected: the cost of the nodes, and the line of Python that made them.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { forwardOf, frameNamed, ownFrame, type PythonFrame, stackOf } from "../analysis/frames.ts";
import { aliveAtPeak } from "../analysis/memory.ts";
import { microsInRows, type Selected, selectedOf, shapesOf } from "../analysis/selected.ts";
import type { Profile } from "../data/profile.ts";
import { chosenSteps } from "../engine/steps.ts";
import type { View } from "../engine/view.ts";
import { exact, share, short, shortBytes, shortUnits } from "../lib/format.ts";
import { selectedNodes, showLine } from "../state/selection.ts";
import type { Store } from "../state/store.ts";

const MOST_TYPES = 4;

/** The panel at the lower right. */
export function SelectionPanel({ store }: { readonly store: Store }) {
  const names = store.selection.value;
  const flags = selectedNodes(store).value;
  const { view } = store.evaluation.value;
  return (
    <section class="selection" aria-label="selection">
      {view && flags ? (
        <Explained store={store} view={view} names={names} flags={flags} />
      ) : (
        <>
          <h3>Selection</h3>
          <p class="dim">Select rows, bars or slices: what they cost and the code behind them shows here.</p>
        </>
      )}
    </section>
  );
}

interface ExplainedProps {
  readonly store: Store;
  readonly view: View;
  readonly names: readonly string[];
  readonly flags: Uint8Array;
}

function Explained({ store, view, names, flags }: ExplainedProps) {
  const { profile, options } = view;
  const { measures } = view.sums;
  // The filters move rows and not what is selected, so while a slider is dragged this is not computed again.
  const selected = useMemo(
    () => selectedOf(profile, measures, names, flags),
    [profile, measures, names, flags],
  );
  const { node, count, types, devices } = selected;
  const [only = ""] = names.length === 1 ? names : [];
  const namesakes = view.kind === "code" ? rowsNamed(view, only) : 1;
  return (
    <>
      <h3>
        Selected: {only ? lastPart(only) : `${names.length} rows`}
        <button
          type="button"
          aria-label="clear the selection"
          title="Clear (Escape)"
          onClick={() => clear(store)}
        >
          ×
        </button>
      </h3>
      {count !== 1 && (
        <p class="dim">
          {count ? `${count.toLocaleString("en")} graph nodes` : "no graph node of this graph"}
        </p>
      )}
      {namesakes > 1 && <p class="dim">{namesakes.toLocaleString("en")} rows of this name, together:</p>}
      {count === 1 && only !== lastPart(only) && <p class="dim">{only}</p>}
      {count > 0 && (
        <dl>
          <Fact term={types.length > 1 ? "op types" : "op type"}>
            {types.slice(0, MOST_TYPES).join(", ")}
            {types.length > MOST_TYPES && ` and ${types.length - MOST_TYPES} more`}
          </Fact>
          <Fact term="device">{devices.join(", ")}</Fact>
          <Fact term="shapes">{node >= 0 && shapesOf(profile, node, options.timing)}</Fact>
          <Costs view={view} flags={flags} selected={selected} />
        </dl>
      )}
      <Origin
        store={store}
        profile={profile}
        names={names}
        selected={selected}
        steps={chosenSteps(profile, options)}
      />
    </>
  );
}

/** How many rows have a name: a line that is reached in several ways has a row for each. */
function rowsNamed(view: View, name: string): number {
  let count = 0;
  for (let row = 0; row < view.rows; row++) if (view.name(row) === name) count += 1;
  return count;
}

interface CostsProps {
  readonly view: View;
  readonly flags: Uint8Array;
  readonly selected: Selected;
}

/** What it costs, of which the node itself where more is behind it. */
function Costs({ view, flags, selected }: CostsProps) {
  const { total, node, count } = selected;
  const { measures } = view.sums;
  const allMicros = view.all("micros") / view.unit("micros");
  const shownMicros = microsInRows(view, flags);
  const alive = aliveAtPeak(view.profile, chosenSteps(view.profile, view.options), flags);
  const rate = total.micros ? (1e6 * total.float_ops) / total.micros : 0;
  const own =
    node >= 0 && count > 1 ? (measures.column("micros")[node] as number) / measures.unit("micros") : null;
  return (
    <>
      <Fact term="time" title={exact("micros", total.micros)}>
        {total.micros > 0 && `${short("micros", total.micros)} · ${share(total.micros, allMicros)} of all`}
        {shownMicros < total.micros && ` · ${short("micros", shownMicros)} in rows shown`}
        {own !== null && total.micros > 0 && ` · own ${short("micros", own)}`}
      </Fact>
      <Fact term="accelerator" title={exact("accelerator_micros", total.accelerator_micros)}>
        {total.accelerator_micros > 0 && short("accelerator_micros", total.accelerator_micros)}
      </Fact>
      <Fact term="FLOP" title={exact("float_ops", total.float_ops)}>
        {total.float_ops > 0 && shortUnits(total.float_ops, "FLOP")}
        {rate > 0 && ` · ${shortUnits(rate, "FLOP/s")}`}
      </Fact>
      <Fact term="memory" title={exact("bytes", total.bytes)}>
        {memory(total, alive, count)}
      </Fact>
      <Fact term="parameters" title={exact("params", total.params)}>
        {total.params > 0 && short("params", total.params)}
      </Fact>
      <Fact term="runs" title={exact("runs", total.runs)}>
        {total.runs > 0 && short("runs", total.runs)}
      </Fact>
    </>
  );
}

/** Peaks of several ops are not at the same time, and their sum is no peak: of those it says what is alive at the step's. */
function memory(total: Selected["total"], alive: number | null, count: number): string {
  const parts: readonly (readonly [bytes: number, what: string])[] = [
    [total.bytes, "requested"],
    [count === 1 ? total.peak_bytes : 0, "at its peak"],
    [alive ?? 0, "at the step's peak"],
    [total.residual_bytes, "kept"],
    [total.output_bytes, "put out"],
  ];
  return parts
    .filter(([bytes]) => bytes > 0)
    .map(([bytes, what]) => `${shortBytes(bytes)} ${what}`)
    .join(" · ");
}

function Fact({
  term,
  title,
  children,
}: {
  readonly term: string;
  readonly title?: string;
  readonly children?: ComponentChildren;
}) {
  const isEmpty = [children].flat(3).every((child) => !child);
  if (isEmpty) return null;
  return (
    <div title={title}>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function clear(store: Store): void {
  store.selection.value = [];
}

interface OriginProps {
  readonly store: Store;
  readonly profile: Profile;
  readonly names: readonly string[];
  readonly selected: Selected;
  readonly steps: readonly number[];
}

/** The line of the user's code behind it in these steps, and the whole stack on demand. */
function Origin({ store, profile, names, selected, steps }: OriginProps) {
  const chosen = names.length === 1 ? frameNamed(profile, names[0] as string) : undefined;
  const about = selected.node >= 0 ? selected.node : selected.costliest;
  const stack = chosen ? [] : stackOf(profile, about, steps);
  const frame = chosen ?? ownFrame(stack);
  if (!frame)
    return selected.count ? <p class="dim">No Python trace of it: where it was made is not known.</p> : null;
  const isOfOne = chosen || selected.count === 1 || selected.node >= 0;
  const forward = chosen ? -1 : forwardOf(profile, about, steps);
  const line = forward < 0 ? undefined : ownFrame(stackOf(profile, forward, steps));
  return (
    <>
      {!isOfOne && (
        <p class="dim line" title={profile.nodes.names[about]}>
          Its costliest, {lastPart(profile.nodes.names[about] as string)}, was made here:
        </p>
      )}
      {line && (
        <>
          <p class="dim line" title={profile.nodes.names[forward]}>
            The gradient of {lastPart(profile.nodes.names[forward] as string)}, which was made here:
          </p>
          <Code store={store} frame={line} />
          <p class="dim">The gradient was asked for here:</p>
        </>
      )}
      <Code store={store} frame={frame} />
      {stack.length > 1 && (
        <details>
          <summary>all {stack.length} frames</summary>
          <ol class="stack">
            {stack.map((each, index) => (
              <li key={index} class={each.library ? "dim" : undefined} title={each.file}>
                {each.name}
                {each.source && <code>{each.source}</code>}
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

/** A line, which is a button that leads to it where it is the user's own. */
function Code({ store, frame }: { readonly store: Store; readonly frame: PythonFrame }) {
  const { file, line, function: name, source, library } = frame;
  const place = `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
  return (
    <figure class="code">
      <figcaption title={file}>
        {library ? (
          place
        ) : (
          <button type="button" title="show in the source" onClick={() => showLine(store, [frame.name])}>
            {place}
          </button>
        )}
        {name && ` in ${name}`}
      </figcaption>
      {source && (
        <pre>
          <span class="dim">{line}</span> {source}
        </pre>
      )}
    </figure>
  );
}

/** The name without the scopes it is in. */
export function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}
