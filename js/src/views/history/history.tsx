// The runs of a cell: as dots with a line for their interval, the sentence on two groups of them, and what changed.

import { useEffect, useMemo } from "preact/hooks";
import {
  type CellRun,
  type ChangedRow,
  COMPARED_BY,
  type ComparedBy,
  type RunComparison,
} from "../../data/history.ts";
import { shortTime, visible } from "../../lib/format.ts";
import type { Store } from "../../state/store.ts";
import { ScrollSideways, SelectField } from "../../ui/tables.tsx";
import { HistoryState } from "./history_state.ts";

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
        {comparison && <RunAgain comparison={comparison} state={state} />}
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
      <p class="dim">{comparison.raced || comparison.cell.text}</p>
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

/** What changed in the code. */
function Code({ comparison: { diff } }: { readonly comparison: RunComparison }) {
  return (
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
  );
}

/** A button that lets the kernel run both sides in turns; where no kernel can, the line that does so in a cell. */
function RunAgain({
  comparison: { rival, canRace },
  state,
}: {
  readonly comparison: RunComparison;
  readonly state: HistoryState;
}) {
  const race = state.race.value;
  if (race)
    return (
      <p role="status" class="race">
        <progress aria-label="the race" value={race.share} />{" "}
        {race.rounds === 1 ? "1 round" : `${race.rounds} rounds`} run{" "}
        <button type="button" disabled={race.isStopping} onClick={() => state.stopRace()}>
          Stop, and tell what is known
        </button>
      </p>
    );
  if (canRace && state.hasKernel)
    return (
      <button type="button" title={RACE_HELP} onClick={() => state.startRace()}>
        Run both again, in turns
      </button>
    );
  if (!rival) return null;
  return (
    <details>
      <summary>Run both again, in turns</summary>
      <p>
        With this as its first line the cell and {rival} run alternately, until it is clear which is faster:{" "}
        <code>%%tfprof --against {rival}</code>
      </p>
    </details>
  );
}

const RACE_HELP =
  "The kernel runs the code of both cells alternately for half a minute at most, and records their ops. What the code does to your variables, as training a model on, stays done.";

function changeOf(line: string): string | undefined {
  if (line.startsWith("+++") || line.startsWith("---")) return undefined;
  return { "+": "in", "-": "out" }[line.charAt(0)];
}

const HEIGHT = 88;
const MARGIN = 10;

/** A list of buttons; one that is pressed takes its run for the side after, with Shift for the side before. With Ctrl
 * the run is put to those of the side, or taken off them. */
function RunDots({ state }: { readonly state: HistoryState }) {
  const { runs } = state.history;
  const place = scaleOf(runs);
  const verdict = state.shown.value.comparison?.step.verdict;
  return (
    <ol class="run-dots" aria-label="runs">
      {runs.map((run, index) => {
        const side = sideOf(state, index);
        return (
          <li key={index}>
            <button
              type="button"
              aria-pressed={side !== ""}
              title={spokenRun(run, side)}
              onClick={({ shiftKey, ctrlKey, metaKey }) =>
                state.pick(shiftKey ? "before" : "after", index, ctrlKey || metaKey)
              }
            >
              <svg width="24" height={HEIGHT} aria-hidden="true" class="data">
                {run.seconds !== null && (
                  <g data-side={side} data-verdict={side === "after" ? verdict : undefined}>
                    <line
                      x1="12"
                      x2="12"
                      y1={place(run.low ?? run.seconds)}
                      y2={place(run.high ?? run.seconds)}
                    />
                    <circle cx="12" cy={place(run.seconds)} r="5.5" />
                  </g>
                )}
              </svg>
              <span class="run-title">{run.title}</span>
              <span class="run-name">{run.name || (run.seconds === null ? "" : time(run.seconds))}</span>
              <span class="spoken">{restOf(run, side)}</span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}

function time(seconds: number): string {
  return shortTime(seconds * 1e6);
}

/** Which side a run is on; empty where on none. */
function sideOf({ before, after }: HistoryState, index: number): "" | "before" | "after" {
  if (after.value.includes(index)) return "after";
  return before.value.includes(index) ? "before" : "";
}

function spokenRun(run: CellRun, side: string): string {
  return [run.title, run.name, restOf(run, side)].filter(Boolean).join(" · ");
}

/** What is known of a run beside its title and name. */
function restOf(run: CellRun, side: string): string {
  const { seconds, low, high } = run;
  const steps =
    seconds === null
      ? "no steps"
      : `step ${time(seconds)}, ${time(low ?? seconds)} to ${time(high ?? seconds)}, ${run.steps.toLocaleString("en")} steps`;
  const cell = run.cell === null ? "" : `cell ${time(run.cell)}`;
  return [steps, cell, run.taken, side].filter(Boolean).join(" · ");
}

/** Where a time is, from the top; the shortest run is at the bottom. Short times and long ones keep their ratios. */
export function scaleOf(runs: readonly CellRun[]): (seconds: number) => number {
  const known = runs
    .flatMap(({ low, high, seconds }) => [low, high, seconds])
    .filter((each) => each !== null);
  const [least, most] = [Math.log(Math.min(...known)), Math.log(Math.max(...known))];
  const span = Math.max(most - least, 0.1);
  return (seconds) => {
    const share = (Math.log(seconds) - (least + most) / 2) / span + 0.5;
    return HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN);
  };
}

/** The table, what it is of, and how much of it there is. */
function ChangesTable({
  comparison,
  state,
}: {
  readonly comparison: RunComparison;
  readonly state: HistoryState;
}) {
  const by = state.by.value;
  const rows = comparison.tables[by];
  const reach = reachOf(rows);
  const differ = rows.filter(({ status, verdict }) => status !== "matched" || isCalled(verdict)).length;
  return (
    <section aria-label="what changed">
      <SelectField<ComparedBy> label="by" chosen={state.by} choices={COMPARED_BY} />
      <ScrollSideways label="comparison">
        <table class="figures compared">
          <thead>
            <tr>
              <th scope="col">{by}</th>
              <th scope="col">before</th>
              <th scope="col">after</th>
              <th scope="col">ratio, 95 % (line: equal)</th>
              <th scope="col">verdict</th>
              <th scope="col">matched by</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, place) => (
              <tr key={place}>
                <th scope="row">{rowName(row)}</th>
                <td>{micros(row.beforeMicros)}</td>
                <td>{micros(row.afterMicros)}</td>
                <td>
                  <RatioBar row={row} reach={reach} />
                </td>
                <td data-verdict={row.verdict}>{verdictOf(row)}</td>
                <td class="dim">{row.status === "matched" ? row.matchedBy : row.status}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollSideways>
      <p class="dim history-foot">
        <span>
          {differ.toLocaleString("en")} of {comparison.rows[by].toLocaleString("en")} rows differ or are new
          {rows.length < comparison.rows[by] && ` (${rows.length} are shown)`} · false alarms held below 5 %
        </span>
        <span>
          {comparison.notes.length ? "not in the same surroundings" : "same machine, same versions"}
        </span>
      </p>
    </section>
  );
}

function micros(value: number | null): string {
  return value === null ? "–" : shortTime(value);
}

function rowName({ name, beforeName }: ChangedRow): string {
  return visible(beforeName && beforeName !== name ? `${beforeName} → ${name}` : name);
}

function isCalled(verdict: string): boolean {
  return verdict === "slower" || verdict === "faster";
}

function verdictOf({ status, verdict }: ChangedRow): string {
  return { added: "new", removed: "gone", matched: verdict }[status];
}

const LEAST_REACH = Math.log(1.25);
const MOST_REACH = Math.log(4);

/** The log ratio at either end of the bars: that of the widest interval, within bounds. */
export function reachOf(rows: readonly ChangedRow[]): number {
  const ends = rows
    .flatMap(({ ratio, low, high }) => [ratio, low, high])
    .filter((each) => each !== null && each > 0);
  const most = Math.max(0, ...ends.map((each) => Math.abs(Math.log(each as number))));
  return Math.min(Math.max(most, LEAST_REACH), MOST_REACH);
}

/** The interval of a ratio as a bar, with a line where nothing changed; a ratio without one is a dot. */
function RatioBar({ row, reach }: { readonly row: ChangedRow; readonly reach: number }) {
  const { ratio, low, high, verdict } = row;
  if (ratio === null) return <div class="ratio" />;
  const at = (value: number): number =>
    50 + 50 * Math.max(-1, Math.min(1, Math.log(Math.max(value, 1e-9)) / reach));
  const [first, last] = low === null || high === null ? [at(ratio), at(ratio)] : [at(low), at(high)];
  const text = low === null || high === null ? ratio.toFixed(2) : `${low.toFixed(2)} to ${high.toFixed(2)}`;
  return (
    <div class="ratio data" title={`${ratio.toFixed(3)} (${text})`}>
      <i
        data-verdict={verdict}
        style={{ insetInlineStart: `${first}%`, inlineSize: `max(6px, ${last - first}%)` }}
      />
      <span class="spoken">{text}</span>
    </div>
  );
}
