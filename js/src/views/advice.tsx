// Shows what the checkers found: a card for each finding, which goes to its evidence, and reports of those that list.

import { batch, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { toldAdvice } from "../analysis/advice_chart.ts";
import { namesOfLine } from "../analysis/frames.ts";
import type { Advice, Evidence, Finding, Patch } from "../data/graphs.ts";
import { OPTIONS, type Options } from "../data/protocol.ts";
import { visibleLines } from "../lib/format.ts";
import { showLine } from "../state/selection.ts";
import { isTable, type Store } from "../state/store.ts";

/** The reports of all checkers that have some, and which others looked. */
export function AdvicePanel({ store }: { readonly store: Store }) {
  const { advice } = store.shown;
  const told = toldAdvice(advice);
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
              <ul key={index}>
                <FindingCard finding={report} store={store} />
              </ul>
            ),
          )}
        </section>
      ))}
      {silent.length > 0 && <Silent advice={silent} />}
    </div>
  );
}

interface CardProps {
  readonly finding: Finding;
  readonly store: Store;
  /** What the card is called where no heading above it says so. */
  readonly title?: string;
  /** Whether the sentence above tells the cause already. */
  readonly isTold?: boolean;
}

/** A finding: its cause, its share and what it would bring at most, what to do, a patch, and ways to where it is seen. */
export function FindingCard({ finding, store, title, isTold }: CardProps) {
  const { cause, evidence, fix, share, line, patch } = finding;
  const names = line ? namesOfLine(store.shown.profile, line, store.initial) : [];
  const whole = store.shown.overview.cell.length ? "the cell" : "a step";
  return (
    <li class="card">
      <p class="told">
        {title && <strong>{title}</strong>}
        {share >= LEAST_GAIN && (
          <span class="gain">
            <strong title="how many times as fast the cell would be without this, at most">
              up to {(1 / (1 - Math.min(share, MOST_GAIN))).toFixed(2)} ×
            </strong>
            <span class="dim">
              {Math.round(100 * share) || "<1"} % of {whole}
            </span>
          </span>
        )}
      </p>
      {!isTold && <p>{sentenceParts(cause)}</p>}
      {patch && <PatchToCopy patch={patch} />}
      {patch ? (
        <details class="rest">
          <summary>what else helps</summary>
          <p>{fix}</p>
        </details>
      ) : (
        <p class="dim">{fix}</p>
      )}
      <div class="ways">
        <button
          type="button"
          title="Show it, with matching options"
          onClick={() => showEvidence(store, evidence)}
        >
          see {evidenceTab(evidence)}
        </button>
        {line && names.length > 0 && (
          <button type="button" title={line.file} onClick={() => showLine(store, names)}>
            see {line.place}
          </button>
        )}
      </div>
    </li>
  );
}

/** What to change in the code, and a button that copies what stands there afterwards. */
function PatchToCopy({ patch: { line, lines, after, effect } }: { readonly patch: Patch }) {
  const said = useSignal("");
  const lacking = navigator.clipboard
    ? undefined
    : "browsers allow copying only on pages of https or of this computer";
  return (
    <figure class="patch" aria-label={`patch of ${line.place}`}>
      <pre>
        {lines.map((each, place) => (
          <span key={place} data-change={each.charAt(0).trim() || undefined}>
            {visibleLines(each)}
            {"\n"}
          </span>
        ))}
      </pre>
      <figcaption>
        <button
          type="button"
          disabled={lacking !== undefined}
          title={lacking ?? `Copy what is to stand at ${line.place}`}
          onClick={async () => {
            try {
              await navigator.clipboard.writeText(after);
              said.value = "copied";
            } catch {
              said.value = "the browser did not allow it";
            }
          }}
        >
          Copy
        </button>{" "}
        <span class="dim">
          for <code>{line.place}</code>; {effect}
        </span>{" "}
        <span aria-live="polite" class="dim">
          {said.value}
        </span>
      </figcaption>
    </figure>
  );
}

const LEAST_GAIN = 0.005;
const MOST_GAIN = 0.99;

/** Where some evidence is, in words. */
export function evidenceTab({ view }: Evidence): string {
  return isTable(view) ? `the ${view} view` : `the ${view}`;
}

/** Go to some evidence, with the options that bring it out. */
export function showEvidence(store: Store, evidence: Evidence): void {
  batch(() => {
    store.options.value = optionsShowing(evidence, store.initial);
    store.selection.value = evidence.selection;
    store.tab.value = evidence.view;
  });
}

// A time or a share is bold; a place in the code is set as code.
const MARKED = /(\d[\d.,]*\s?(?:ns|µs|ms|s|%|×)(?![\w/]))|([\w./<>-]+\.py:\d+|In\[\d+\]:\d+)/;

/** A sentence with its figures and places marked. */
export function sentenceParts(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  for (let rest = visibleLines(text); rest; ) {
    const found = MARKED.exec(rest);
    if (!found) return [...parts, rest];
    const [whole, figure] = found;
    parts.push(rest.slice(0, found.index), figure ? <b>{whole}</b> : <code>{whole}</code>);
    rest = rest.slice(found.index + whole.length);
  }
  return parts;
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
        ? "The checkers found nothing to change in the traced steps."
        : "No run was traced, so there are no times to judge: profile a cell that runs the graph, for instance with %%tfprof."}
    </p>
  );
}

/** What was looked for and not found: one line, which unfolds. */
export function Silent({ advice }: { readonly advice: readonly Advice[] }) {
  return (
    <details class="silent">
      <summary>
        {advice.length.toLocaleString("en")} {advice.length === 1 ? "check" : "checks"} found nothing
      </summary>
      <ul>
        {advice.map(({ checker, title, looksFor }) => (
          <li key={checker}>
            {title}: <span class="dim">looks for {looksFor}.</span>
          </li>
        ))}
      </ul>
    </details>
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
