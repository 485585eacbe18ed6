// What stands below a running cell: how far it is, its last steps, its parts so far, its costliest op types.

import { type Signal, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type LiveState, liveStateOf, notableDrift } from "../data/live.ts";
import { plainType, shortCount, shortTime, visible } from "../lib/format.ts";
import type { Store } from "../state/store.ts";
import { StackedBar, StepTimes } from "../ui/bars.tsx";

const STEPS_SHOWN = 200;
// The kernel tells something twice a second; with less than that, it does not get to it.
const QUIET_SECONDS = 5;

/** The panel: it is only told, as the kernel has no time to answer. */
export function LivePanel({ store }: { readonly store: Store }) {
  const state = useTold(store);
  const quiet = useQuiet(state.value);
  const now = state.value;
  if (!now) return <p class="live-told dim">The kernel has told nothing yet.</p>;
  return (
    <div class="live">
      <p class="live-told">
        <span class="phase" data-phase={quiet ? "quiet" : now.phase} aria-hidden="true" />
        {/* The phase alone is spoken: the numbers change twice a second. */}
        <span role="status">{now.told}</span>
        <span class="dim">{shortTime(1e6 * now.seconds)}</span>
        {quiet > 0 && <span class="quiet">{quietText(store, quiet)}</span>}
      </p>
      <div class="live-steps">
        <StepFigures state={now} />
        <StepTimes seconds={now.strip} room={STEPS_SHOWN} />
      </div>
      <div class="bars">
        <StackedBar label="so far" parts={now.parts} lacking="nothing is known yet" />
      </div>
      <Costliest state={now} />
    </div>
  );
}

/** What Python told last. */
function useTold({ host: { model } }: Store): Signal<LiveState | null> {
  const [state] = useState(() => signal(liveStateOf(model.get("state"))));
  useEffect(() => {
    const hear = (): void => {
      state.value = liveStateOf(model.get("state"));
    };
    model.on("change:state", hear);
    hear();
    return () => model.off("change:state", hear);
  }, [model, state]);
  return state;
}

/** For how many seconds nothing was told, as long as that is worth saying; else 0. */
function useQuiet(state: LiveState | null): number {
  const [quiet, setQuiet] = useState(0);
  useEffect(() => {
    setQuiet(0);
    const heard = Date.now();
    const look = setInterval(() => {
      const seconds = Math.round((Date.now() - heard) / 1000);
      if (seconds >= QUIET_SECONDS) setQuiet(seconds);
    }, 1000);
    return () => clearInterval(look);
  }, [state]);
  return state?.phase === "done" ? 0 : quiet;
}

function quietText({ isHeard }: Store, seconds: number): string {
  if (!isHeard.value) return "The kernel is gone. This is the last that it told.";
  return `Nothing was heard for ${seconds} s: the kernel is in code that lets no other thread run, or it is gone.`;
}

/** The step that most of the time goes to, now and at first; before there is one, the first run. */
function StepFigures({ state }: { readonly state: LiveState }) {
  const { kind, steps, runs, traced, stepSeconds, firstSeconds, underWay } = state;
  const changed = notableDrift(state);
  if (!runs) {
    return (
      <p class="figures-now">
        <strong>{shortTime(1e6 * underWay)}</strong> in the first run so far
      </p>
    );
  }
  return (
    <div class="figures-now">
      <p>
        <strong>{stepSeconds ? shortTime(1e6 * stepSeconds) : "–"}</strong> a step
        {changed && (
          <span class="drift" data-slower={changed.startsWith("+") || undefined}>
            {changed}, {shortTime(1e6 * firstSeconds)} at first
          </span>
        )}
      </p>
      <p class="dim">
        {shortCount(steps)} steps{kind && ` of ${visible(kind)}`} · {shortCount(traced)} of {shortCount(runs)}{" "}
        runs traced
      </p>
      {underWay > Math.max(2 * stepSeconds, 1) && (
        <p class="dim">A run has gone on for {shortTime(1e6 * underWay)} so far</p>
      )}
    </div>
  );
}

/** The op types that cost most in a traced run, by the longest. */
function Costliest({ state: { costliest } }: { readonly state: LiveState }) {
  const most = costliest[0]?.[1] || 1;
  return (
    <section class="live-ops" aria-label="costliest op types so far">
      <h3>Costliest op types in a step, so far</h3>
      {costliest.length ? (
        <ul>
          {costliest.map(([op, seconds]) => (
            <li key={op}>
              <span class="op">{visible(plainType(op))}</span>
              <span class="meter" aria-hidden="true">
                <span style={{ width: `${(100 * seconds) / most}%` }} />
              </span>
              <span class="time">{shortTime(1e6 * seconds)}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="dim">No traced step has been read yet.</p>
      )}
    </section>
  );
}
