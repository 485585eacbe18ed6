// Shows what the checkers found; a finding goes to its evidence.

import { batch } from "@preact/signals";
import type { Advice, Evidence, Finding } from "../data/graphs.ts";
import { OPTIONS, type Options } from "../data/protocol.ts";
import { isTable, type Store } from "../state/store.ts";

/** What each checker looks for, and what it needs to be able to say something. */
const CHECKERS: Readonly<Record<string, { readonly title: string; readonly looksFor: string }>> = {
  AcceleratorUtilizationChecker: {
    title: "Accelerator use",
    looksFor: "accelerators that stood idle during the steps; it needs runs on an accelerator",
  },
  ExpensiveOperationChecker: {
    title: "What costs most",
    looksFor: "the op types, graph nodes and lines of code that take the most time; it needs traced runs",
  },
  OperationChecker: {
    title: "Faster alternatives",
    looksFor: "ops and data formats for which there is a faster one",
  },
  ClusterChecker: {
    title: "Waiting for other tasks",
    looksFor: "a task that holds the others up, slow links, and transfers that no work hides",
  },
  DeviceIdleChecker: {
    title: "Idle devices",
    looksFor: "long stretches of a step in which an accelerator, or else the host, does nothing",
  },
  FlopRateChecker: {
    title: "Slow products",
    looksFor: "matrix products and convolutions at a small part of the best rate on their device",
  },
  InitializerChecker: {
    title: "Initializers",
    looksFor: "initializers of variables among what was measured",
  },
  InputBoundChecker: {
    title: "Waiting for input",
    looksFor: "steps in which nothing runs until their input is there",
  },
  LayoutChecker: {
    title: "Transposing and padding",
    looksFor: "time spent to bring tensors into another layout or size",
  },
  ParameterServerChecker: {
    title: "Balance of parameter servers",
    looksFor: "a server that holds or does much more than the others",
  },
  PlacementChecker: {
    title: "Placement",
    looksFor: "matrix products and convolutions on a CPU beside an accelerator",
  },
  PrecisionChecker: {
    title: "Precision",
    looksFor: "float64, and on accelerators float32 where half precision would do",
  },
  RetracingChecker: {
    title: "Retracing",
    looksFor: "functions that many calls have to trace anew",
  },
  TinyKernelChecker: {
    title: "Tiny ops",
    looksFor: "steps that spend their time to start ops which are over in a moment",
  },
  TransferChecker: {
    title: "Copies and waits",
    looksFor: "steps that wait for tensors on their way between devices and hosts",
  },
};

/** The reports of all checkers that have some, and which others looked. */
export function AdvicePanel({ store }: { readonly store: Store }) {
  const { advice } = store.shown;
  const told = advice.filter(({ reports }) => reports.length > 0).sort(byFindings);
  const silent = advice.filter(({ reports }) => reports.length === 0);
  return (
    <div class="advice">
      {!told.length && <Nothing hasRun={store.shown.profile.steps.length > 0} />}
      {told.map(({ checker, reports }) => (
        <section key={checker} aria-label={titleOf(checker)}>
          <h3>{titleOf(checker)}</h3>
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
        {advice.map(({ checker }) => (
          <li key={checker}>
            {titleOf(checker)}:{" "}
            <span class="dim">looks for {CHECKERS[checker]?.looksFor ?? "what its name says"}.</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function titleOf(checker: string): string {
  return CHECKERS[checker]?.title ?? checker;
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
