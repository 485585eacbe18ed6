// The runs of a cell as dots, the sentence on two groups of them, and the table of what changed.

import { useEffect, useMemo } from "preact/hooks";
import type { CellRun, RunComparison } from "../../data/history.ts";
import type { Store } from "../../state/store.ts";
import { ChangesTable } from "./changes_table.tsx";
import { HistoryState } from "./history_state.ts";
import { RunDots } from "./run_dots.tsx";

/** The whole panel; what is chosen stays while another tab is looked at. */
export function HistoryPanel({ store }: { readonly store: Store }) {
  const state = store.kept("history", () => new HistoryState(store.host.model));
  useEffect(() => state.listen(), [state]);
  const { runs } = state.history;
  if (!runs.length) return <p class="history-empty">{NO_RUNS}</p>;
  return (
    <div class="history">
      <section aria-label="runs of this cell">
        <h3>Runs of this cell</h3>
        <RunDots state={state} />
        {runs.length > 1 && <p class="dim">{HELP}</p>}
      </section>
      {runs.length === 1 ? <p class="dim">{ONE_RUN}</p> : <Compared state={state} />}
    </div>
  );
}

const HELP =
  "A click on a run takes it for the side after, with Shift for the side before; with Ctrl or ⌘ too it joins those there, or leaves them.";
const NO_RUNS =
  "No runs are kept of this: cells under %%tfprof are, in their kernel, each time that they run.";
const ONE_RUN =
  "This cell ran once in this kernel. Change it, run it again, and this page tells whether it became faster.";

function Compared({ state }: { readonly state: HistoryState }) {
  const { comparison, problem, isAsking } = state.shown.value;
  return (
    <>
      {comparison && <Answer comparison={comparison} />}
      <div class="history-tools">
        <GroupField label="before" state={state} side="before" />
        <GroupField label="after" state={state} side="after" />
        {comparison && <Code comparison={comparison} />}
      </div>
      {isAsking && (
        <p role="status">
          <progress aria-label="the kernel's work" /> comparing …
        </p>
      )}
      {problem && <p role="alert">{problem}</p>}
      {comparison && <ChangesTable comparison={comparison} state={state} />}
    </>
  );
}

/** What differs in the surroundings, and the sentence, whose answer stands out. */
function Answer({ comparison }: { readonly comparison: RunComparison }) {
  return (
    <>
      {comparison.notes.length > 0 && (
        <ul class="history-notes" aria-label="what differs beside the code">
          {comparison.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <h4 class="sentence">
        {comparison.sentence.map(([text, isAnswer], place) =>
          isAnswer ? <strong key={place}>{text}</strong> : <span key={place}>{text}</span>,
        )}
      </h4>
      <p class="dim">{comparison.cell.text}</p>
    </>
  );
}

/** A list of the groups that may be chosen for a side: runs of the same code in a row, and single runs. */
function GroupField({
  label,
  state,
  side,
}: {
  readonly label: string;
  readonly state: HistoryState;
  readonly side: "before" | "after";
}) {
  const groups = useMemo(() => groupsOf(state.history.runs), [state]);
  const chosen = state[side].value.join();
  const known = groups.some((places) => places.join() === chosen);
  const all = known ? groups : [...groups, state[side].value];
  return (
    <label>
      {label}{" "}
      <select onChange={({ currentTarget: { value } }) => state.choose(side, value.split(",").map(Number))}>
        {all.map((places) => (
          <option key={places.join()} value={places.join()} selected={places.join() === chosen}>
            {groupName(state.history.runs, places)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Runs of the same code in a row, and of several such each one by itself. */
export function groupsOf(runs: readonly CellRun[]): readonly (readonly number[])[] {
  const versions: number[][] = [];
  runs.forEach((run, place) => {
    if (place && runs[place - 1]?.version === run.version) versions.at(-1)?.push(place);
    else versions.push([place]);
  });
  const singles = runs.map((_, place) => [place]);
  return [...versions.filter(({ length }) => length > 1), ...singles];
}

/** What a group is called: its first run and its last. */
export function groupName(runs: readonly CellRun[], places: readonly number[]): string {
  const titles = places.map((place) => runs[place]?.title ?? "");
  if (titles.length < 2) return titles[0] ?? "";
  const [first, last] = [titles[0], titles.at(-1)];
  return first === last ? `${first}, ${titles.length} runs` : `${first} to ${last}, ${titles.length} runs`;
}

/** What changed in the code, and how to run both again. */
function Code({ comparison: { diff, rival } }: { readonly comparison: RunComparison }) {
  return (
    <>
      <details>
        <summary>What changed in the code</summary>
        {diff.length ? (
          <pre class="diff">
            {diff.map((line, place) => (
              <span key={place} data-change={changeOf(line)}>
                {line}
                {"\n"}
              </span>
            ))}
          </pre>
        ) : (
          <p>Nothing changed in the code of the cell.</p>
        )}
      </details>
      {rival && (
        <details>
          <summary>Run both again, in turns</summary>
          <p>
            With this as its first line the cell and {rival} run alternately, until it is clear which is
            faster: <code>%%tfprof --against {rival}</code>
          </p>
        </details>
      )}
    </>
  );
}

function changeOf(line: string): string | undefined {
  if (line.startsWith("+++") || line.startsWith("---")) return undefined;
  return { "+": "in", "-": "out" }[line.charAt(0)];
}
