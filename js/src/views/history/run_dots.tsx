// The runs of a cell: a dot for each at the median of its steps, with a line for its interval.

import type { CellRun } from "../../data/history.ts";
import { shortTime } from "../../lib/format.ts";
import type { HistoryState } from "./history_state.ts";

const HEIGHT = 88;
const MARGIN = 10;

/** A list of buttons; one that is pressed takes its run for the side after, with Shift for the side before. With Ctrl
 * the run is put to those of the side, or taken off them. */
export function RunDots({ state }: { readonly state: HistoryState }) {
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
