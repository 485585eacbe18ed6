// The overview: what takes the time, the cell and a step in parts, all steps, the layers, and what to do.

import type { Finding, Overview, Part } from "../../data/graphs.ts";
import type { Store } from "../../state/store.ts";
import { StackedBar } from "../../ui/bars.tsx";
import { evidenceTab, FindingCard, Silent, sentenceParts, showEvidence } from "../advice.tsx";
import { Charts } from "../charts/charts.tsx";
import { LayerRows } from "./layer_rows.tsx";
import { StepStrip } from "./step_strip.tsx";

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
