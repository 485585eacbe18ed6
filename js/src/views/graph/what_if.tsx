// A slider on the selection: how long a step would take if what is selected took more or less time.

import type { Prediction } from "../../analysis/replay.ts";
import { shortTime, visible } from "../../lib/format.ts";
import type { GraphPicture } from "../../state/graph_picture.ts";
import { usePerFrame } from "../../ui/fields.tsx";
import { lastPart } from "../selection.tsx";

const MOST_PERCENT = 200;
const STEP = 5;
/** Below this share nobody would call it a change. */
const SEEN = 0.0005;

/** The slider and what comes out, or why there is none. */
export function WhatIfPanel({ state }: { readonly state: GraphPicture }) {
  const { whatIf, store } = state;
  const found = whatIf.prediction.value;
  const percent = whatIf.percent.value;
  const set = usePerFrame(whatIf.set);
  if (!found) return null;
  const names = store.selection.value;
  const what = names.length === 1 ? visible(lastPart(names[0] as string)) : `${names.length} rows`;
  const isAsked = typeof found !== "string";
  return (
    <section class="what-if" aria-label="what if">
      <h3>What if{isAsked ? ` ${what} took ${percent} % of its time?` : ""}</h3>
      {isAsked ? (
        <>
          <div class="track">
            <input
              type="range"
              aria-label={`time of ${what}`}
              aria-valuetext={`${percent} %: ${outcomeOf(found)}`}
              min={0}
              max={MOST_PERCENT}
              step={STEP}
              value={percent}
              style={{ "--fill": `${percent / 2}%` }}
              onInput={({ currentTarget }) => set(currentTarget.valueAsNumber)}
              onChange={set.flush}
            />
          </div>
          <Outcome found={found} />
        </>
      ) : (
        <p class="dim">{found}</p>
      )}
    </section>
  );
}

/** The step as measured and as predicted, each a bar, and around the second one the interval. */
function Outcome({ found }: { readonly found: Prediction }) {
  const { measured, predicted, replayed, low, high, steps } = found;
  return (
    <>
      <p>
        <b>{outcomeOf(found)}</b>
      </p>
      <svg
        viewBox={`0 0 ${Math.max(measured, high)} 18`}
        width="100%"
        height="18"
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        <path d={`M0 0H${measured}V7H0`} fill="var(--dim)" />
        <path d={`M0 10H${predicted}V17H0`} fill="var(--own)" />
        <path d={`M${low} 13H${high}v1H${low}`} fill="var(--text)" />
      </svg>
      <p class="dim">
        {`most steps between ${time(low)} and ${time(high)}; measured ${time(measured)}, ${
          steps > 1 ? `the median of ${steps} steps` : "1 step"
        }, replayed unchanged ${time(replayed)}`}
      </p>
    </>
  );
}

function time(nanos: number): string {
  return shortTime(nanos / 1000);
}

/** The prediction in words. */
function outcomeOf({ predicted, replayed }: Prediction): string {
  const change = predicted / replayed - 1;
  const told =
    Math.abs(change) < SEEN
      ? "as now"
      : `${(100 * Math.abs(change)).toFixed(1)} % ${change < 0 ? "less" : "more"}`;
  return `a step of ${time(predicted)}, ${told}`;
}
