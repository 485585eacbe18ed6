// Shows what the checkers found; a finding goes to its evidence.

import { batch } from "@preact/signals";
import type { Advice, Evidence, Finding } from "../data/graphs.ts";
import { OPTIONS, type Options } from "../data/protocol.ts";
import { isTable, type Store } from "../state/store.ts";

/** The reports of all checkers that have some, and which others looked. */
export function AdvicePanel({ store }: { readonly store: Store }) {
  const { advice } = store.shown;
  const told = advice.filter(({ reports }) => reports.length > 0).sort(byFindings);
  const silent = advice.filter(({ reports }) => reports.length === 0);
  return (
    <div class="advice">
      {!told.length && <Nothing hasRun={store.shown.profile.steps.length > 0} />}
      {told.map(({ checker, title, reports }) => (
        <section key={checker} aria-label={title}>
          <h3>{title}</h3>
          {reports.map((report, index) =>
            typeof report === "string" ? (
              <Report key={index} text={report} store={store} />
            ) : (
              <Found key={index} finding={report} store={store} />
            ),
          )}
        </section>
      ))}
      {silent.length > 0 && <Silent advice={silent} />}
    </div>
  );
}

/** What there is to change comes before what costs most. */
function byFindings(one: Advice, other: Advice): number {
  const isText = ({ reports }: Advice) => Number(typeof reports[0] === "string");
  return isText(one) - isText(other);
}

/** A finding: its cause, what to do, and a way to where it can be seen. */
function Found({ finding, store }: { readonly finding: Finding; readonly store: Store }) {
  const { view, selection } = finding.evidence;
  const show = () =>
    batch(() => {
      store.options.value = optionsShowing(finding.evidence, store.initial);
      store.selection.value = selection;
      store.tab.value = view;
    });
  return (
    <ul>
      <li>
        {finding.cause}{" "}
        <button type="button" title="Show it, with the options that bring it out" onClick={show}>
          see the {isTable(view) ? `${view} view` : view}
        </button>
      </li>
      <li class="dim">{finding.fix}</li>
    </ul>
  );
}

/** A report: its first line says it, the others list what it is about. */
function Report({ text, store }: { readonly text: string; readonly store: Store }) {
  const [headline = "", ...lines] = text.split("\n").filter((line) => line.trim());
  if (!lines.length) {
    return (
      <p>
        <Line text={headline} store={store} />
      </p>
    );
  }
  return (
    <ul>
      {[headline, ...lines].map((line, index) => (
        <li key={index} style={{ paddingInlineStart: `${indentation(line) * 7}px` }}>
          <Line text={line.trim()} store={store} />
        </li>
      ))}
    </ul>
  );
}

// As the checkers write: "top 1 operation type: MatMul, cpu: 1.2ms, ..." and "train.py:12:main, cpu: ...".
const NAMED = /^(top \d+ [a-z ]+: )?([^,]+)(, .*)?$/;

/** A line, with what it names to be selected. */
function Line({ text, store }: { readonly text: string; readonly store: Store }) {
  const [, before = "", name = text, after = ""] = NAMED.exec(text) ?? [];
  if (!after) return <>{text}</>;
  return (
    <>
      <span class="dim">{before}</span>
      <button
        type="button"
        title="Select it, and show it in its table"
        onClick={() => {
          store.selection.value = [name];
          store.tab.value = before.includes("operation type") ? "op" : /:\d+:/.test(name) ? "code" : "scope";
        }}
      >
        {name}
      </button>
      <span class="dim">{after}</span>
    </>
  );
}

function Nothing({ hasRun }: { readonly hasRun: boolean }) {
  return (
    <p>
      {hasRun
        ? "The checkers found nothing to change in what was traced."
        : "No run was traced, and without times there is little to advise: profile a cell that runs the graph, for instance with %%tfprof."}
    </p>
  );
}

function Silent({ advice }: { readonly advice: readonly Advice[] }) {
  return (
    <section aria-label="nothing to report">
      <h3>Nothing to report</h3>
      <ul>
        {advice.map(({ checker, title, looksFor }) => (
          <li key={checker}>
            {title}: <span class="dim">looks for {looksFor}.</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function indentation(line: string): number {
  return line.length - line.trimStart().length;
}

// How rows are counted and laid out stays; what would hide rows or steps does not.
const KEPT: ReadonlySet<keyof Options> = new Set<keyof Options>(["maxDepth", "orderBy", "select", "timing"]);

/** The options that show some evidence, in a widget that was made with these. */
export function optionsShowing(evidence: Evidence, initial: Options): Options {
  return Object.fromEntries(
    OPTIONS.map(({ name, key, default: usual }) => [
      key,
      evidence.options[name] ?? (KEPT.has(key) ? initial[key] : usual),
    ]),
  ) as unknown as Options;
}
