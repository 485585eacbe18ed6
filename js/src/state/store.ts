// The state of one widget on the screen: what is shown of which graph, under which options, and what follows from that.

import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { type Description, type Graph, graphOf, graphsOf } from "../data/graphs.ts";
import type { Assets, Model, ModelSource } from "../data/model.ts";
import { OptionError, sameValue } from "../data/options.ts";
import { type Metric, OPTIONS, type Options, type Tab, VIEWS, type ViewName } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import { NotLoaded } from "../engine/matching.ts";
import type { View } from "../engine/view.ts";
import type { ChartLibrary, Later, Lent } from "./bundles.ts";

/** A view, and why it is not the one asked for, if it is not: then it is the last good one. */
interface Evaluation {
  readonly view: View | null;
  readonly problem: Problem | null;
}

/** Why the options give no view. */
interface Problem {
  /** The option's name as Python writes it; empty where none is to blame. */
  readonly option: string;
  readonly reason: string;
}

/** A panel of the second bundle. */
type Panel = (props: { readonly store: Store }) => ComponentChildren;

/** What js/src/carried.ts has: the panels that a notebook has once, by name, and their styles. */
export interface Carried {
  readonly style: string;
  readonly panels: Readonly<Record<"ExportMenu" | "GraphPanel" | "JobsPanel", Panel>>;
}

/** What js/src/panels.ts exports: panels by name, and their styles. */
export interface Panels {
  readonly style: string;
  /** What js/shared.mjs has it lend to js/src/carried.ts. */
  readonly lent: Lent;
  readonly panels: Readonly<
    Record<
      | "AdvicePanel"
      | "Charts"
      | "CutLine"
      | "Filters"
      | "HistoryPanel"
      | "LeftOut"
      | "MemoryPanel"
      | "MiniTimeline"
      | "OverviewPanel"
      | "SelectionPanel"
      | "StepChoice"
      | "StepFacts"
      | "Timeline"
      | "TreeTable"
      | "WorkersPanel",
      Panel
    >
  >;
}

/** Where a widget gets its data and its code from. */
export interface Host {
  readonly model: Model;
  readonly assets: () => Promise<Assets>;
  readonly panels: Later<Panels>;
  /** To be asked for once the panels are there, which it uses. */
  readonly carried: Later<Carried>;
  readonly charts: Later<ChartLibrary>;
  /** Where other models of the page are found; a saved result has none. */
  readonly source?: ModelSource | undefined;
}

/** Where the result goes is not the widget's to know. */
const TRAITS = OPTIONS.filter((option) => option.kind !== "text");

/** Whether the filters are folded; a narrow widget and a wide one remember it apart. */
class Folding {
  readonly isNarrow = signal(false);
  readonly isFolded: ReadonlySignal<boolean>;
  readonly #whenNarrow = signal(true);
  readonly #whenWide = signal(false);

  constructor() {
    this.isFolded = computed(() => this.#inForce().value);
  }

  toggle(): void {
    const folded = this.#inForce();
    folded.value = !folded.peek();
  }

  #inForce(): Signal<boolean> {
    return this.isNarrow.value ? this.#whenNarrow : this.#whenWide;
  }
}

/** How the graph can be read: as a picture, or as the tree along its inputs. */
export const GRAPH_READINGS = ["picture", "tree"] as const;

/** The state, linked in both directions to the traits of the model. */
export class Store {
  readonly title: Signal<string>;
  readonly graph: Signal<number>;
  readonly tab: Signal<Tab>;
  readonly metric: Signal<Metric>;
  readonly options: Signal<Options>;
  /** The options that the widget was made with, which resetting goes back to. */
  readonly initial: Options;
  /** Names of rows, op types or scopes that are selected. */
  readonly selection: Signal<readonly string[]>;
  readonly search: Signal<string>;
  /** The widths in pixels that the reader gave columns, by view and column. */
  readonly columnWidths: Signal<Readonly<Record<string, Readonly<Record<string, number>>>>>;
  /** How the graph is read; a result that opens there begins with the tree, as its options are about that. */
  readonly graphReading: Signal<(typeof GRAPH_READINGS)[number]>;
  /** Whether the graph is shown as a picture; where its code cannot be had the tree is shown. */
  readonly isGraphDrawn: ReadonlySignal<boolean>;
  /** The table that is shown, or was last. */
  readonly table: ReadonlySignal<ViewName>;
  readonly evaluation: ReadonlySignal<Evaluation>;
  readonly filters = new Folding();
  /** Whether Python hears what is changed: not after its kernel was started again. */
  readonly isHeard = signal(true);
  readonly #kept = new Map<string, unknown>();
  readonly #graphs: Signal<readonly Graph[]>;
  readonly #cleanups: (() => void)[] = [];

  constructor(readonly host: Host) {
    const { model } = host;
    this.#graphs = signal(graphsOf(model));
    this.title = this.#linked(model, "title", "");
    this.graph = this.#linked(model, "graph", 0);
    this.tab = this.#linked<Tab>(model, "view", "overview");
    this.graphReading = signal(this.tab.peek() === "graph" ? "tree" : "picture");
    this.isGraphDrawn = computed(() => {
      const { code, problem } = host.carried.arrived.value;
      const canDraw = code !== undefined || problem === undefined;
      return this.tab.value === "graph" && this.graphReading.value === "picture" && canDraw;
    });
    this.metric = this.#linked<Metric>(model, "metric", "time");
    this.selection = this.#linked<readonly string[]>(model, "selection", []);
    this.search = this.#linked(model, "search", "");
    this.columnWidths = this.#linked(model, "_column_widths", {});
    this.options = this.#linkedOptions(model);
    this.initial = this.options.peek();
    let last: ViewName = "scope";
    this.table = computed(() => {
      const tab = this.tab.value;
      if (tab === "overview") return "layers";
      // The picture needs no rows.
      if (isTable(tab) && !this.isGraphDrawn.value) last = tab;
      return last;
    });
    this.evaluation = this.#evaluated();
  }

  get graphs(): readonly Graph[] {
    return this.#graphs.value;
  }

  /** Show other columns of a graph, of which not all fit: what else is told of it stays. */
  replace(index: number, told: Pick<Description, "columns" | "notes" | "cut">): void {
    this.#graphs.value = this.graphs.map((graph, at) =>
      at === index ? graphOf({ ...graph, ...told, cuts: (graph.cuts ?? 0) + 1 }) : graph,
    );
  }

  /** The graph that is shown. */
  get shown(): Graph {
    const graph = this.graphs[this.graph.value] ?? this.graphs[0];
    if (!graph) throw new Error("a widget without a graph");
    return graph;
  }

  /** Change some options at once. */
  set(changes: Partial<Options>): void {
    this.options.value = { ...this.options.value, ...changes };
  }

  /** What a panel keeps under a name while another tab is looked at; `make` makes it when it is first asked for. */
  kept<State>(name: string, make: () => State): State {
    if (!this.#kept.has(name)) this.#kept.set(name, make());
    return this.#kept.get(name) as State;
  }

  /** Undo all links to the model. */
  dispose(): void {
    for (const cleanup of this.#cleanups) cleanup();
  }

  #evaluated(): ReadonlySignal<Evaluation> {
    const good = new Map<string, View>();
    return computed(() => {
      const [view, graph] = [this.table.value, this.shown];
      const key = `${this.graph.value} ${view}`;
      try {
        const result = evaluate(graph.profile, view, this.options.value);
        good.set(key, result);
        return { view: result, problem: null };
      } catch (error) {
        if (error instanceof NotLoaded) return { view: good.get(key) ?? null, problem: this.#absence() };
        return { view: good.get(key) ?? null, problem: problemOf(error) };
      }
    });
  }

  /** Why the code that comes after the first paint is not there, null while it may still come. */
  #absence(): Problem | null {
    const { problem } = this.host.panels.arrived.value;
    return problem === undefined ? null : { option: "", reason: problem };
  }

  /** A signal that follows a trait and that the trait follows. */
  #linked<T>(model: Model, trait: string, initial: T): Signal<T> {
    const linked = signal((model.get(trait) as T | undefined) ?? initial);
    this.#follow(model, [trait], () => {
      linked.value = (model.get(trait) as T | undefined) ?? initial;
    });
    this.#send(model, () => ({ [trait]: linked.value }));
    return linked;
  }

  #linkedOptions(model: Model): Signal<Options> {
    const read = (): Options =>
      Object.fromEntries(
        OPTIONS.map(({ key, name, default: usual }) => [key, model.get(name) ?? usual]),
      ) as unknown as Options;
    const linked = signal(read());
    this.#follow(
      model,
      TRAITS.map((option) => option.name),
      () => {
        const now = read();
        if (!sameValue(now, linked.peek())) linked.value = now;
      },
    );
    this.#send(model, () => Object.fromEntries(TRAITS.map(({ key, name }) => [name, linked.value[key]])));
    return linked;
  }

  #follow(model: Model, traits: readonly string[], listener: () => void): void {
    for (const trait of traits) {
      const event = `change:${trait}`;
      const listening = () => batch(listener);
      model.on(event, listening);
      this.#cleanups.push(() => model.off(event, listening));
    }
  }

  #send(model: Model, values: () => Record<string, unknown>): void {
    this.#cleanups.push(
      effect(() => {
        const changed = Object.entries(values()).filter(
          ([name, value]) => !sameValue(model.get(name), value),
        );
        for (const [name, value] of changed) model.set(name, value);
        if (changed.length) model.save_changes();
      }),
    );
  }
}

/** Whether a tab is one of tfprof's tables. */
export function isTable(tab: Tab): tab is ViewName {
  return (VIEWS as readonly string[]).includes(tab);
}

function problemOf(error: unknown): Problem {
  if (error instanceof OptionError) return { option: error.option, reason: error.reason };
  return { option: "", reason: error instanceof Error ? error.message : String(error) };
}
