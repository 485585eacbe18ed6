// The bar under the head: what to look at, of which graph and step, and the search box.

import { batch } from "@preact/signals";
import { hasSeveralWorkers } from "../analysis/several_workers.ts";
import { OPTIONS, TABS, type Tab } from "../data/protocol.ts";
import { asRegex } from "../lib/exactly.ts";
import type { Store } from "../state/store.ts";
import { SearchBox } from "./search_box.tsx";

/** The tabs of the views, with arrow keys as in the ARIA pattern, and what chooses within them. */
export function Tabs({ store }: { readonly store: Store }) {
  const reports = store.shown.advice.reduce((sum, { reports: { length } }) => sum + length, 0);
  return (
    <div class="bar">
      <div class="tabs" role="tablist" aria-label="views" onKeyDown={(event) => step(store, event)}>
        {tabsOf(store).map((tab) => (
          <button
            type="button"
            key={tab}
            id={`tab-${tab}`}
            role="tab"
            aria-controls="panel"
            aria-selected={store.tab.value === tab}
            aria-description={tab === "advise" && reports ? `${reports} reports` : undefined}
            tabIndex={store.tab.value === tab ? 0 : -1}
            class={tab === "timeline" ? "apart" : undefined}
            onClick={() => {
              store.tab.value = tab;
            }}
          >
            {tab}
            {tab === "advise" && reports > 0 && <sup aria-hidden="true">{reports}</sup>}
          </button>
        ))}
      </div>
      <div class="find">
        <GraphChoice store={store} />
        <StepChoice store={store} />
        <SearchBox store={store} />
      </div>
    </div>
  );
}

/** All tabs; workers are only looked at where there are several, or tasks of a cluster. */
function tabsOf({ shown: { cluster, profile }, tab }: Store): readonly Tab[] {
  const hasWorkers = cluster || hasSeveralWorkers(profile) || tab.value === "workers";
  return TABS.filter((each) => hasWorkers || each !== "workers");
}

function step(store: Store, event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const tabs = tabsOf(store);
  const at = tabs.indexOf(store.tab.value);
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  store.tab.value = tabs.at(next % tabs.length) as Tab;
  event.currentTarget.querySelector<HTMLElement>(`#tab-${store.tab.value}`)?.focus();
}

function GraphChoice({ store }: { readonly store: Store }) {
  if (store.graphs.length < 2) return null;
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
function StepChoice({ store }: { readonly store: Store }) {
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
        step: mean of {steps.length.toLocaleString("en")}
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
