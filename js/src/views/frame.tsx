// The frame of a widget: head, notes, tabs with their panels, search box and status line.

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { hasSeveralWorkers } from "../analysis/devices.ts";
import { TABS, type Tab } from "../data/protocol.ts";
import { short, visible, visibleLines } from "../lib/format.ts";
import { isTable, type Store } from "../state/store.ts";
import { tableOf } from "../state/table.ts";
import { FactList } from "../ui/facts.tsx";
import { arrivedPanel, Lazy, type LazyPanel, LazyStyle, unavailable } from "../ui/lazy.tsx";
import { LivePanel } from "./live.tsx";

// As many as a saved result shows without scripts.
const MOST_PLAIN_ROWS = 20;

/** The whole widget. */
export function Frame({ store }: { readonly store: Store }) {
  const root = useRef<HTMLElement>(null);
  useNarrowness(root, store);
  const tab = store.tab.value;
  const panel = mainPanel(store);
  const { code, problem } = arrivedPanel(store, panel);
  const isLacking = problem !== undefined && !code;
  useReadiness(root, isLacking || code !== undefined);
  if (!store.graphs.length) {
    return (
      <section ref={root} class="tfprof" aria-label="tfprof">
        <Head store={store} />
        {store.host.model.get("_kind") === "live" ? (
          <LivePanel store={store} />
        ) : (
          <Lazy store={store} panel={panel} isMain />
        )}
        <LazyStyle store={store} />
      </section>
    );
  }
  const hasSides = isTable(tab) && !isLacking && !store.isGraphDrawn.value;
  return (
    <section ref={root} class="tfprof" aria-label="tfprof">
      <Head store={store} />
      <Tabs store={store} />
      <div
        class="body"
        data-tab={tab}
        data-folded={store.filters.isFolded.value || undefined}
        role="tabpanel"
        id="panel"
        aria-labelledby={`tab-${tab}`}
      >
        {hasSides && <Lazy store={store} panel="Filters" placeholder={<section class="controls" />} />}
        <div class="main">
          <Lazy
            key={panel}
            store={store}
            panel={panel}
            isMain
            meanwhile={tab === "overview" && <Sentence store={store} />}
            unavailable={(reason) => (
              <>
                {unavailable(reason)}
                {isTable(tab) && <PlainRows store={store} />}
              </>
            )}
          />
        </div>
        {hasSides && (
          <aside class="side" aria-label="charts">
            <Lazy store={store} panel="Charts" />
            <Lazy store={store} panel="MiniTimeline" placeholder={null} unavailable={() => null} />
            <Lazy store={store} panel="SelectionPanel" placeholder={null} />
          </aside>
        )}
      </div>
      <Status store={store} />
      <LazyStyle store={store} />
    </section>
  );
}

/** What the overview opens with, as plain text. */
function Sentence({ store }: { readonly store: Store }) {
  return (
    <div class="answer">
      <h3>{visibleLines(store.shown.overview.sentence)}</h3>
    </div>
  );
}

/** The rows of a table with their totals, for hosts that let no further code in. */
function PlainRows({ store }: { readonly store: Store }) {
  const listing = tableOf(store).listing.value;
  if (!listing) return null;
  const { view, seen, lead, total } = listing;
  return (
    <table class="plain">
      {seen.length > MOST_PLAIN_ROWS && <caption>the first {MOST_PLAIN_ROWS} rows</caption>}
      {Array.from(seen.subarray(0, MOST_PLAIN_ROWS), (row) => (
        <tr key={row}>
          <th scope="row">{visible(view.name(row))}</th>
          <td>{short(lead, (total[row] as number) / view.unit(lead))}</td>
        </tr>
      ))}
    </table>
  );
}

/** The panels of the tabs that are no tables. */
const PANELS: { readonly [name in Tab]?: LazyPanel } = {
  overview: "OverviewPanel",
  timeline: "Timeline",
  memory: "MemoryPanel",
  history: "HistoryPanel",
  workers: "WorkersPanel",
  advise: "AdvicePanel",
};

/** What the reader came for. */
function mainPanel(store: Store): LazyPanel {
  if (!store.graphs.length) return store.host.model.get("_kind") === "jobs" ? "JobsPanel" : "HistoryPanel";
  return store.isGraphDrawn.value ? "GraphPanel" : (PANELS[store.tab.value] ?? "TreeTable");
}

/** Title, facts and menu, and below them what the reader has to know before trusting the numbers. */
function Head({ store }: { readonly store: Store }) {
  const graph = store.graphs.length ? store.shown : null;
  return (
    <>
      <header class="head">
        <h2>tfprof</h2>
        <span class="title">{store.title.value}</span>
        {graph && (
          <Lazy
            store={store}
            panel="StepFacts"
            placeholder={<FactList facts={graph.facts} />}
            unavailable={() => <FactList facts={graph.facts} />}
          />
        )}
        {graph && (
          <Lazy
            store={store}
            panel="ExportMenu"
            placeholder={exportLater("the exports are being loaded")}
            unavailable={exportLater}
          />
        )}
      </header>
      {graph && graph.notes.length > 0 && (
        <ul class="notes" aria-label="notes">
          {graph.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {graph?.cut && <Lazy store={store} panel="CutLine" placeholder={null} unavailable={() => null} />}
    </>
  );
}

/** The button of the exports while there are none. */
function exportLater(reason: string) {
  return (
    <button type="button" disabled title={reason}>
      Export <span aria-hidden="true">▾</span>
    </button>
  );
}

/** What the screen reader hears when options change, and the versions. */
function Status({ store }: { readonly store: Store }) {
  return (
    <footer class="status">
      <span role="status">
        {(isTable(store.tab.value) || store.tab.value === "overview") &&
          !store.isGraphDrawn.value &&
          kept(store)}
      </span>
      <Lazy store={store} panel="LeftOut" placeholder={null} unavailable={() => null} />
      <span class="about">{String(store.host.model.get("_about") ?? "")}</span>
    </footer>
  );
}

function kept(store: Store): string {
  const { view, problem } = store.evaluation.value;
  const rows = view
    ? `${view.kept.toLocaleString("en")} of ${view.of.toLocaleString("en")} rows`
    : problem
      ? "no result"
      : "";
  return problem ? [rows, problem.option, problem.reason].filter(Boolean).join(" · ") : rows;
}

/** Set `data-ready` once the tab's panel is painted, or what stands for it where the panels cannot be had. */
function useReadiness(element: RefObject<HTMLElement | null>, isSettled: boolean): void {
  useEffect(() => {
    if (!isSettled) return undefined;
    const frame = requestAnimationFrame(() => element.current?.setAttribute("data-ready", "true"));
    return () => cancelAnimationFrame(frame);
  }, [element, isSettled]);
}

// As in the container queries of styles/base.css.
const WIDEST_NARROW = 900;

/** Tell the filters whether the widget is too narrow for them to stand beside the table. */
function useNarrowness(element: RefObject<HTMLElement | null>, { filters }: Store): void {
  useLayoutEffect(() => {
    if (!element.current) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) filters.isNarrow.value = entry.contentRect.width <= WIDEST_NARROW;
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element, filters]);
}

/** The tabs of the views, with arrow keys as in the ARIA pattern, and what chooses within them. */
function Tabs({ store }: { readonly store: Store }) {
  const findings = store.shown.advice
    .flatMap(({ reports }) => reports)
    .filter((each) => typeof each !== "string").length;
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
            aria-description={
              tab === "advise" && findings ? `${findings} finding${findings > 1 ? "s" : ""}` : undefined
            }
            tabIndex={store.tab.value === tab ? 0 : -1}
            class={tab === "timeline" ? "apart" : undefined}
            onClick={() => {
              store.tab.value = tab;
            }}
          >
            {tab}
            {tab === "advise" && findings > 0 && <sup aria-hidden="true">{findings}</sup>}
          </button>
        ))}
      </div>
      <div class="find">
        <Lazy store={store} panel="StepChoice" placeholder={null} unavailable={() => null} />
        <SearchBox store={store} />
      </div>
    </div>
  );
}

/** All tabs; workers are only looked at where there are several, accelerators, or tasks of a cluster; a history of runs. */
function tabsOf({ host, shown: { accelerators, cluster, profile }, tab }: Store): readonly Tab[] {
  const has: { readonly [name in Tab]?: unknown } = {
    workers: accelerators?.devices.length || cluster || hasSeveralWorkers(profile),
    history: (host.model.get("_history") as { runs?: unknown } | undefined)?.runs,
  };
  return TABS.filter((each) => !(each in has) || has[each] || each === tab.value);
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

// What is typed quickly is searched for once: each match that is gone to unfolds what hides it.
const PAUSE_MILLISECONDS = 200;

/** The box and how many matches there are; `/` anywhere in the widget puts the cursor into it. */
function SearchBox({ store }: { readonly store: Store }) {
  const box = useRef<HTMLInputElement>(null);
  const pause = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const state = tableOf(store);
  useEffect(() => {
    const root = box.current?.getRootNode();
    const focus = (event: Event): void => {
      if ((event as KeyboardEvent).key !== "/" || isTyping(event.target)) return;
      event.preventDefault();
      box.current?.focus();
      box.current?.select();
    };
    root?.addEventListener("keydown", focus);
    return () => {
      clearTimeout(pause.current);
      root?.removeEventListener("keydown", focus);
    };
  }, []);
  const isOfTable = isTable(store.tab.value) && !store.isGraphDrawn.value;
  return (
    <span class="search">
      <input
        ref={box}
        type="search"
        aria-label="find a node"
        placeholder="Find a node  ( / )"
        title="Enter: next match, Shift+Enter: the one before"
        value={store.search.value}
        onInput={(event) => {
          store.search.value = event.currentTarget.value;
          clearTimeout(pause.current);
          if (isOfTable) pause.current = setTimeout(() => state.find(1, true), PAUSE_MILLISECONDS);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !isOfTable) return;
          event.preventDefault();
          clearTimeout(pause.current);
          state.find(event.shiftKey ? -1 : 1);
        }}
      />
      {isOfTable && store.search.value.trim() && (
        <output aria-live="polite">{found(state.matches.value.length, state.match.value)}</output>
      )}
    </span>
  );
}

function found(count: number, at: number): string {
  if (!count) return "none";
  return at < 0
    ? count.toLocaleString("en")
    : `${(at + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.matches("input:not([type=checkbox], [type=range]), textarea, select")
  );
}
