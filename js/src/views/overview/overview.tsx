// The overview: what takes the time, the cell and a step in parts, all steps, the layers, and what to do.

import { batch, signal } from "@preact/signals";
import type { Finding, Overview, Part, StepBar } from "../../data/graphs.ts";
import { OPTIONS } from "../../data/protocol.ts";
import { shortTime } from "../../lib/format.ts";
import { meanOf, stepsOf, stepsShown } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
import { StackedBar } from "../../ui/bars.tsx";
import { evidenceTab, FindingCard, Silent, sentenceParts, showEvidence } from "../advice.tsx";
import { Charts } from "../charts/charts.tsx";
import { LayerRows } from "./layer_rows.tsx";

// A step that takes more times the usual one is cut off: all others would be flat beside it.
const HIGHEST = 2.2;
const EVERYTHING = OPTIONS.find(({ key }) => key === "runNameRegexes")?.default as readonly string[];

/** The panel. */
export function OverviewPanel({ store }: { readonly store: Store }) {
  const { overview, advice } = store.shown;
  const findings = findingsOf(store);
  const silent = advice.filter(({ reports }) => reports.length === 0);
  return (
    <div class="glance">
      <Answer store={store} overview={overview} leading={findings[0]?.finding} />
      <div class="bars">
        <StackedBar
          label="the cell"
          parts={overview.cell}
          lacking="no cell was captured: this is the profile of single steps"
          choose={(part) => follow(store, part)}
        />
        <StackedBar
          label="a step"
          parts={overview.step}
          lacking="no step was timed"
          choose={(part) => follow(store, part)}
        />
      </div>
      <div class="columns">
        <div class="first">
          <StepStrip store={store} overview={overview} />
          <LayerRows store={store} />
        </div>
        <aside aria-label="advice and op types">
          <section class="todo" aria-label="advice">
            <h3 class="title">What to do, by its share of {overview.cell.length ? "the cell" : "a step"}</h3>
            <ul aria-label="what to do">
              {findings.length ? (
                findings.map(({ title, finding }, place) => (
                  <FindingCard
                    key={place}
                    title={title}
                    finding={finding}
                    store={store}
                    isTold={overview.sentence.includes(finding.cause)}
                  />
                ))
              ) : (
                <li class="card">Nothing to change was found.</li>
              )}
            </ul>
            <Silent advice={silent} />
          </section>
          <Charts store={store} isAlone />
        </aside>
      </div>
    </div>
  );
}

interface TitledFinding {
  readonly title: string;
  readonly finding: Finding;
}

/** The findings with the titles of their checkers, those first that are about most of the cell. */
function findingsOf({ shown: { advice } }: Store): readonly TitledFinding[] {
  return advice
    .flatMap(({ title, reports }) =>
      reports.flatMap((report) => (typeof report === "string" ? [] : [{ title, finding: report }])),
    )
    .sort((one, other) => other.finding.share - one.finding.share);
}

interface AnswerProps {
  readonly store: Store;
  readonly overview: Overview;
  readonly leading: Finding | undefined;
}

/** The sentence, and the way to what it is about. */
function Answer({ store, overview, leading }: AnswerProps) {
  return (
    <div class="answer">
      <h3>{sentenceParts(overview.sentence)}</h3>
      {overview.leads && leading && (
        <button type="button" class="main-action" onClick={() => showEvidence(store, leading.evidence)}>
          Show it in {evidenceTab(leading.evidence)}
        </button>
      )}
    </div>
  );
}

/** Go to what a part is made of. */
function follow(store: Store, { key }: Part): void {
  store.tab.value = ["forward", "backward", "update"].includes(key) ? "layers" : "timeline";
}

interface StripProps {
  readonly store: Store;
  readonly overview: Overview;
}

/** The strip, and above it what there is to say of all steps. */
function StepStrip({ store, overview: { bars, steps } }: StripProps) {
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
      <ol aria-label="steps" onKeyDown={walkSteps}>
        {bars.length === 0 && <li class="lacking">no step was timed</li>}
        {bars.map((bar) => (
          <li
            key={bar.first}
            title={stepTitle(bar)}
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
              <span class="spoken">{stepTitle(bar)}</span>
            </button>
          </li>
        ))}
      </ol>
      <p role="status" class="dim">
        {chosen && toldOfStep(chosen, usual, stepsOf(stepsShown(store).value).length)}
      </p>
    </section>
  );
}

/** What is known of a step, and what the other tabs show. */
function toldOfStep(bar: StepBar, usual: number, shown: number): string {
  const times = bar.count > 1 ? "" : `, ${(bar.nanos / usual).toFixed(2)} times the median`;
  if (bar.traced >= 0)
    return `${stepTitle(bar)}${times}: all tabs show it. A second click goes back to the mean.`;
  const rest = shown ? `all tabs show the ${meanOf(shown)}` : "none was";
  return `${stepTitle(bar)}${times}. What ran in it was not traced: ${rest}.`;
}

/** Arrow keys go from one step to the next. */
function walkSteps(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
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

function stepTitle({ first, count, nanos, most, traced }: StepBar): string {
  const last = first + count - 1;
  const name = count > 1 ? `steps ${first} to ${last}, in the median` : `step ${first},`;
  const longest = count > 1 ? `, at most ${shortTime(most / 1000)}` : "";
  return `${name} ${shortTime(nanos / 1000)}${longest}${traced >= 0 ? ", traced" : ""}`;
}
