// Says what is not here of a graph that was cut, and asks the kernel for the rows that are wanted.

import { type Signal, signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Cut, Description } from "../data/graphs.ts";
import type { Listener } from "../data/model.ts";
import type { Profile } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import { isEverything } from "../engine/matching.ts";
import type { Store } from "../state/store.ts";
import { tableOf } from "../state/table.ts";

// Someone may be typing a regex or dragging the step.
const STILL_MILLISECONDS = 400;

/** Says what can be had of the kernel, what it is doing, and why it could not. */
export function CutLine({ store }: { readonly store: Store }) {
  const asking = useMemo(() => new CutRequests(store), [store, store.graph.value]);
  useEffect(() => () => asking.dispose(), [asking]);
  const { profile, cut } = store.shown;
  const hasKernel = Boolean(store.host.model.send);
  useWantedByOptions(store, asking, hasKernel);
  const names = store.selection.value;
  const row = names.length === 1 ? mergedRow(profile, names[0] as string) : null;
  const { progress, problem } = asking.asked.value;
  const line = useRef<HTMLElement>(null);
  useOpeningInTheTable(line, hasKernel && row ? () => open(store, asking, row) : null);
  if (!cut) return null;
  return (
    <section ref={line} class="rest" aria-label="what is not here">
      {progress !== undefined && (
        <p role="status">
          <progress aria-label="the kernel's work" /> {progress} …
        </p>
      )}
      {problem !== undefined && (
        <p role="alert">
          {problem}{" "}
          <button type="button" onClick={() => asking.again()}>
            Ask again
          </button>
        </p>
      )}
      {row && hasKernel && progress === undefined && (
        <p>
          Selected: {row.count} nodes of type {row.op}
          {row.scope && ` in ${row.scope}`}, put together.{" "}
          <button type="button" onClick={() => open(store, asking, row)}>
            Show them
          </button>
        </p>
      )}
      {!hasKernel && <p>{withoutKernel(row, wantedBy(store.options.value, cut))}</p>}
    </section>
  );
}

/** Ask for what the options want, once they stand still, beside the row that was opened last. */
function useWantedByOptions(store: Store, asking: CutRequests, hasKernel: boolean): void {
  const { cut } = store.shown;
  const { problem } = store.evaluation.value;
  const wanted = cut && !problem ? wantedBy(store.options.value, cut) : {};
  const written = JSON.stringify(wanted);
  useEffect(() => {
    const { scope, op, ...before } = asking.last;
    const isKnown = written === JSON.stringify(before) && !asking.asked.peek().problem;
    if (!hasKernel || isNothing(wanted) || isKnown) return;
    const opened = scope !== undefined && { scope, op };
    const still = setTimeout(() => asking.ask({ ...wanted, ...opened }), STILL_MILLISECONDS);
    return () => clearTimeout(still);
  }, [written, asking]);
}

/** Let a double click on the selected row open it, or Enter, as the table unfolds the others. */
function useOpeningInTheTable(line: RefObject<HTMLElement | null>, openRow: (() => void) | null): void {
  // In a layout effect: Enter or a double click may come before the paint that follows the selecting click.
  useLayoutEffect(() => {
    const widget = line.current?.closest<HTMLElement>(".tfprof");
    if (!widget || !openRow) return;
    const hear = (event: Event): void => {
      const isInTable = event.target instanceof Element && event.target.closest("[role=treegrid]");
      if (isInTable && (event.type === "dblclick" || (event as KeyboardEvent).key === "Enter")) openRow();
    };
    // Before the table itself hears it: the Enter that selects a row does not open it as well.
    widget.addEventListener("dblclick", hear, true);
    widget.addEventListener("keydown", hear, true);
    return () => {
      widget.removeEventListener("dblclick", hear, true);
      widget.removeEventListener("keydown", hear, true);
    };
  });
}

/** Have the nodes of a row whole, and go to the scope that they are in. */
function open(store: Store, asking: CutRequests, { scope, op }: MergedRow): void {
  asking.ask({ ...wantedBy(store.options.peek(), store.shown.cut as Cut), scope, op }, () => {
    store.selection.value = scope ? [scope] : [];
    unfold(store, scope);
  });
}

function unfold(store: Store, scope: string): void {
  const trees = tableOf(store);
  const listing = trees.listing.peek();
  const place = listing?.view.forest.tree.names.indexOf(scope) ?? -1;
  const row = place < 0 ? -1 : (listing?.view.places.indexOf(place) ?? -1);
  if (listing && row >= 0) trees.fold(listing, row, false);
}

/** Where the rest is, for who reads a saved page. */
function withoutKernel(row: MergedRow | null, wanted: Wanted): string {
  const scope = row?.scope ? `start_name_regexes=[${JSON.stringify(row.scope)}]` : "start_name_regexes=[…]";
  const what = row
    ? `The ${row.count} nodes of this row are not in this page`
    : isNothing(wanted)
      ? "The nodes of joined rows are not in this page"
      : "This page has only a part of what the options ask for";
  return `${what}, and it has no kernel. In a notebook, run profile.widget(${scope}).`;
}

/** What is going on: what the kernel does, or why it does not. */
interface RequestState {
  readonly progress?: string;
  readonly problem?: string;
}

type Answer =
  | { readonly answer: "progress"; readonly text: string }
  | { readonly answer: "failed"; readonly reason: string }
  | ({ readonly answer: "rows"; readonly graph: number } & Pick<Description, "notes" | "cut">);

// A kernel answers when the cell that it runs is done.
const PATIENCE_MILLISECONDS = 60_000;
const SILENCE =
  "The kernel does not answer. It may be running a cell: ask again when it is idle. If it was stopped, run the cell again.";

/** A question and its answer; what is asked meanwhile is asked after it, and only the last of that. */
export class CutRequests {
  readonly asked: Signal<RequestState> = signal({});
  /** What was asked last. */
  last: Wanted = {};
  #next: Wanted | undefined;
  #answered: (() => void) | undefined;
  #patience: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Store,
    private readonly patienceMilliseconds = PATIENCE_MILLISECONDS,
  ) {
    store.host.model.on("msg:custom", this.#hear);
  }

  /** Have this whole; `then` is called when it is shown. */
  ask(wanted: Wanted, then?: () => void): void {
    this.#answered = then;
    if (this.asked.peek().progress !== undefined) {
      this.#next = wanted;
      return;
    }
    this.last = wanted;
    this.asked.value = { progress: "asking the kernel" };
    this.#wait();
    this.store.host.model.send?.({ request: "rows", graph: this.store.graph.peek(), wanted });
  }

  /** Ask once more what was asked last. */
  again(): void {
    this.ask(this.last);
  }

  /** Hear no more. */
  dispose(): void {
    clearTimeout(this.#patience);
    this.store.host.model.off("msg:custom", this.#hear);
  }

  readonly #hear: Listener = (message, buffers) => {
    const found = message as Answer;
    if (found.answer === "progress") {
      this.asked.value = { progress: found.text };
      this.#wait();
    }
    if (found.answer === "failed") this.#end({ problem: found.reason });
    const columns = buffers?.[0];
    if (found.answer === "rows" && columns) {
      const { graph, notes, cut } = found;
      this.store.replace(graph, { columns, notes, cut });
      this.#end({});
    }
  };

  #wait(): void {
    clearTimeout(this.#patience);
    this.#patience = setTimeout(() => this.#end({ problem: SILENCE }), this.patienceMilliseconds);
  }

  #end(asked: RequestState): void {
    clearTimeout(this.#patience);
    const [next, answered] = [this.#next, this.#answered];
    [this.#next, this.#answered] = [undefined, undefined];
    this.asked.value = asked;
    if (next && !asked.problem) this.ask(next, answered);
    else if (!asked.problem) answered?.();
  }
}

/** What is to be whole, as tfprof_widget/widget/cut_plan.py takes it. */
interface Wanted {
  readonly step?: number;
  readonly scope?: string;
  readonly op?: string;
  readonly show_name_regexes?: readonly string[];
  readonly start_name_regexes?: readonly string[];
}

/** A row that stands for several nodes: those of an op type under a scope. */
interface MergedRow {
  readonly count: string;
  readonly scope: string;
  readonly op: string;
}

// As tfprof_widget/widget/cut_tables.py writes them.
const NAME = /^(?:(.*)\/)?\(([\d,]+) more [^/]*\)$/s;

/** The row of this name, null where it is a node's own. */
export function mergedRow({ nodes }: Profile, name: string): MergedRow | null {
  const [, scope = "", count = ""] = NAME.exec(name) ?? [];
  const node = count ? nodes.names.indexOf(name) : -1;
  return node < 0 ? null : { count, scope, op: nodes.ops[nodes.op[node] as number] as string };
}

/** What the options want whole that may not be: a step's executions, and nodes whose names match. */
export function wantedBy({ step, showNameRegexes, startNameRegexes }: Options, cut: Cut): Wanted {
  const show = isEverything(showNameRegexes) ? undefined : showNameRegexes;
  const start = isEverything(startNameRegexes) ? undefined : startNameRegexes;
  return {
    ...(step >= 0 && !cut.steps.includes(step) && { step }),
    ...(cut.rows > 0 && show?.length && { show_name_regexes: show }),
    ...(cut.rows > 0 && start?.length && { start_name_regexes: start }),
  };
}

/** Whether nothing is wanted. */
export function isNothing(wanted: Wanted): boolean {
  return Object.keys(wanted).length === 0;
}
