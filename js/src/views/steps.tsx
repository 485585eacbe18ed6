// The steps: what chooses them, and the facts of the head line, which follow the steps that are chosen.

import { batch } from "@preact/signals";
import type { Fact, Graph } from "../data/graphs.ts";
import { sameValue } from "../data/options.ts";
import { OPTIONS, type Options } from "../data/protocol.ts";
import { measures } from "../engine/measures.ts";
import { chosenSteps } from "../engine/steps.ts";
import { asRegex, shortTime } from "../lib/format.ts";
import { meanOf } from "../state/selection.ts";
import type { Store } from "../state/store.ts";
import { FactList } from "../ui/facts.tsx";

/** The facts of the head line. */
export function StepFacts({ store }: { readonly store: Store }) {
  return (
    <FactList facts={factsShown(store.shown, store.options.value)}>
      <MemoryNote store={store} />
    </FactList>
  );
}

/** That not all memory is known: it leads to the memory, and is told in full there. */
function MemoryNote({ store: { shown, tab } }: { readonly store: Store }) {
  const { memoryNote } = shown;
  if (!memoryNote) return null;
  return (
    <li class="caution">
      {tab.value === "memory" ? (
        memoryNote
      ) : (
        <button
          type="button"
          title={memoryNote}
          onClick={() => {
            tab.value = "memory";
          }}
        >
          memory in part
        </button>
      )}
    </li>
  );
}

// As in tfprof_widget/analysis/steady.py: the facts that are of the steps shown, and the one that these stand behind.
const OF_STEPS = ["shown", "step", "recorded", "op time", "FLOP formulas for"];
const BEFORE_STEPS = "runs traced";
const CHOOSING: readonly (keyof Options)[] = ["step", "workerRegexes", "acrossWorkers", "timing"];

/** The facts of the steps that the options choose; as they are where nothing is known of single steps. */
function factsShown(graph: Graph, options: Options): readonly Fact[] {
  const { facts, stepUse, profile, runNameRegexes } = graph;
  const isFirst =
    sameValue(options.runNameRegexes, runNameRegexes) &&
    OPTIONS.every(({ key, default: usual }) => !CHOOSING.includes(key) || sameValue(options[key], usual));
  if (isFirst || !stepUse.length) return facts;
  let steps: readonly number[];
  try {
    steps = chosenSteps(profile, options);
  } catch {
    return facts; // the control of the option says what is wrong with it
  }
  const others = facts.filter(({ label }) => !OF_STEPS.includes(label));
  const place = others.findIndex(({ label }) => label === BEFORE_STEPS) + 1;
  return others.toSpliced(place, 0, ...kindFacts(graph, options, steps), ...opTime(graph, options, steps));
}

/** What steps of one kind have in common; steps of several kinds have no name and no wall time in common. */
function kindFacts(
  { factsOfSteps, profile }: Graph,
  { step }: Options,
  steps: readonly number[],
): readonly Fact[] {
  const names = new Set(steps.map((each) => profile.stepNames[each] ?? ""));
  const [name = ""] = names;
  const facts = (names.size === 1 && factsOfSteps[name]) || [];
  if (step < 0) return facts;
  const value = names.size === 1 && name ? `step ${step} of ${name}` : `step ${step}`;
  const shown = { label: "shown", value, help: "the step that is shown" };
  return [shown, ...facts.filter(({ label }) => label !== "shown")];
}

/** The summed time of all ops of a step, and the same by the time in which any op ran. */
function opTime(
  { facts, stepUse, profile }: Graph,
  options: Options,
  steps: readonly number[],
): readonly Fact[] {
  const found = measures(profile, options);
  const micros = found.column("micros").reduce((sum, each) => sum + each, 0) / found.unit("micros");
  const known = facts.find(({ label }) => label === "op time");
  if (!known || !micros) return [];
  const sum = (part: 0 | 1) => steps.reduce((total, step) => total + (stepUse[step]?.[part] ?? 0), 0);
  const atOnce = sum(1) ? sum(0) / sum(1) : 0;
  return [{ ...known, value: `${shortTime(micros)} · ${atOnce.toFixed(2)} ops at once` }];
}

/** The graph, where there are several, and its steps. */
export function StepChoice({ store }: { readonly store: Store }) {
  return (
    <>
      {store.graphs.length > 1 && <GraphChoice store={store} />}
      <OneOrMean store={store} />
    </>
  );
}

function GraphChoice({ store }: { readonly store: Store }) {
  return (
    <select
      aria-label="graph"
      onChange={({ currentTarget: { value } }) => {
        batch(() => {
          store.graph.value = Number(value);
          store.set({ step: -1, runNameRegexes: store.shown.runNameRegexes });
        });
      }}
    >
      {store.graphs.map(({ name }, index) => (
        <option key={name} value={index} selected={store.graph.value === index}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** One step, the mean of all, or the mean of those of one kind. */
function OneOrMean({ store }: { readonly store: Store }) {
  const { steps, stepNames } = store.shown.profile;
  const kinds = new Map<string, number>();
  for (const name of stepNames) kinds.set(name, (kinds.get(name) ?? 0) + 1);
  const { step: chosen, runNameRegexes } = store.options.value;
  const kind = chosen < 0 ? runNameRegexes.join("\n") : "";
  const everything = OPTIONS.find(({ key }) => key === "runNameRegexes")?.default as readonly string[];
  return (
    <select
      aria-label="step"
      onChange={({ currentTarget: { value } }) => {
        if (value.startsWith("=")) store.set({ step: Number(value.slice(1)), runNameRegexes: everything });
        else store.set({ step: -1, runNameRegexes: value ? [value] : everything });
      }}
    >
      <option value="" selected={chosen < 0 && kind === everything.join("\n")}>
        {meanOf(steps.length)}
      </option>
      {(kinds.size > 1 || kind !== everything.join("\n")) &&
        [...kinds].map(([name, count]) => (
          <option key={name} value={asRegex(name)} selected={kind === asRegex(name)}>
            {name || "unnamed"}: mean of {count.toLocaleString("en")}
          </option>
        ))}
      {steps.map(
        (number, index) =>
          number !== steps[index - 1] && (
            <option key={number} value={`=${number}`} selected={chosen === number}>
              step {number}
              {stepNames[index] ? ` · ${stepNames[index]}` : ""}
            </option>
          ),
      )}
    </select>
  );
}
