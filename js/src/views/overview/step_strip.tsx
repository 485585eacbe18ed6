// All steps of a cell as a strip of bars: one that was traced is shown everywhere when it is chosen, of others their time.

import { batch, signal } from "@preact/signals";
import type { Overview, StepBar } from "../../data/graphs.ts";
import { OPTIONS } from "../../data/protocol.ts";
import { shortTime } from "../../lib/format.ts";
import { meanOf, stepsOf, stepsShown } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";

// A step that takes more times the usual one is cut off: all others would be flat beside it.
const HIGHEST = 2.2;
const EVERYTHING = OPTIONS.find(({ key }) => key === "runNameRegexes")?.default as readonly string[];

interface Props {
  readonly store: Store;
  readonly overview: Overview;
}

/** The strip, and above it what there is to say of all steps. */
export function StepStrip({ store, overview: { bars, steps } }: Props) {
  const { step: shown } = store.options.value;
  const looked = store.kept(`step looked at ${store.graph.value}`, () => signal(-1));
  const chosen = bars.find((bar) =>
    shown >= 0 ? bar.traced === shown : bar.first === looked.value && bar.traced < 0,
  );
  const reachable = chosen ?? bars.find(({ traced }) => traced >= 0) ?? bars[0];
  const usual = median(bars);
  const top = Math.min(HIGHEST * usual, Math.max(...bars.map(({ most }) => most), 1));
  const choose = (bar: StepBar): void => {
    const isTraced = bar.traced >= 0 && bar !== chosen;
    batch(() => {
      looked.value = bar === chosen ? -1 : bar.first;
      if (isTraced) store.set({ step: bar.traced, runNameRegexes: EVERYTHING });
      else if (shown >= 0) store.set({ step: -1, runNameRegexes: store.shown.runNameRegexes });
    });
  };
  return (
    <section class="steps" aria-label="all steps">
      <h3 class="title">
        Steps<span>{steps.map((fact) => ` · ${fact}`)}</span>
      </h3>
      <ol aria-label="steps" onKeyDown={walk}>
        {bars.length === 0 && <li class="lacking">no step was timed</li>}
        {bars.map((bar) => (
          <li
            key={bar.first}
            title={titleOf(bar)}
            data-traced={bar.traced >= 0 || undefined}
            data-over={bar.most > top || undefined}
            style={{ "--most": height(bar.most, top), "--usual": height(bar.nanos, top) }}
          >
            <button
              type="button"
              aria-pressed={bar === chosen}
              tabIndex={bar === reachable ? 0 : -1}
              onClick={() => choose(bar)}
            >
              <span class="spoken">{titleOf(bar)}</span>
            </button>
          </li>
        ))}
      </ol>
      <p role="status" class="dim">
        {chosen && told(chosen, usual, stepsOf(stepsShown(store).value).length)}
      </p>
    </section>
  );
}

/** What is known of a step, and what the other tabs show. */
function told(bar: StepBar, usual: number, shown: number): string {
  const times = bar.count > 1 ? "" : `, ${(bar.nanos / usual).toFixed(2)} times the median`;
  if (bar.traced >= 0)
    return `${titleOf(bar)}${times}: all tabs show it. A second click goes back to the mean.`;
  const rest = shown ? `all tabs show the ${meanOf(shown)}` : "none was";
  return `${titleOf(bar)}${times}. What ran in it was not traced: ${rest}.`;
}

/** Arrow keys go from one step to the next. */
function walk(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const at = buttons.indexOf(event.target as HTMLButtonElement);
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  buttons.at(next % buttons.length)?.focus();
}

function median(bars: readonly StepBar[]): number {
  const sorted = bars.map(({ nanos }) => nanos).sort((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? 1;
}

function height(nanos: number, top: number): string {
  return `${Math.min((100 * nanos) / top, 100)}%`;
}

function titleOf({ first, count, nanos, most, traced }: StepBar): string {
  const last = first + count - 1;
  const name = count > 1 ? `steps ${first} to ${last}, in the median` : `step ${first},`;
  const longest = count > 1 ? `, at most ${shortTime(most / 1000)}` : "";
  return `${name} ${shortTime(nanos / 1000)}${longest}${traced >= 0 ? ", traced" : ""}`;
}
