// Asks the kernel for what is not in the browser, one question at a time, and shows what it answers.

import { type Signal, signal } from "@preact/signals";
import type { Description } from "../data/graphs.ts";
import type { Listener } from "../data/model.ts";
import type { Store } from "../state/store.ts";
import type { Wanted } from "./wanted.ts";

/** What is going on: what the kernel does, or why it does not. */
export interface RequestState {
  readonly progress?: string;
  readonly problem?: string;
}

type Told =
  | { readonly told: "progress"; readonly text: string }
  | { readonly told: "failed"; readonly reason: string }
  | ({ readonly told: "rest"; readonly graph: number } & Pick<Description, "notes" | "cut">);

// A kernel answers when the cell that it runs is done.
const PATIENCE_MILLISECONDS = 60_000;
const SILENCE =
  "The kernel does not answer. It may be running a cell: ask again when it is idle. If it was stopped, run the cell again.";

/** A question and its answer; what is asked meanwhile is asked after it, and only the last of that. */
export class CutRequests {
  readonly asked: Signal<RequestState> = signal({});
  /** What was asked last. */
  last: Wanted = {};
  private next: Wanted | undefined;
  private answered: (() => void) | undefined;
  private patience: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Store,
    private readonly patienceMilliseconds = PATIENCE_MILLISECONDS,
  ) {
    store.host.model.on("msg:custom", this.hear);
  }

  /** Have this whole; `then` is called when it is shown. */
  ask(wanted: Wanted, then?: () => void): void {
    this.answered = then;
    if (this.asked.peek().progress !== undefined) {
      this.next = wanted;
      return;
    }
    this.last = wanted;
    this.asked.value = { progress: "asking the kernel" };
    this.wait();
    this.store.host.model.send?.({ ask: "rest", graph: this.store.graph.peek(), wanted });
  }

  /** Ask once more what was asked last. */
  again(): void {
    this.ask(this.last);
  }

  /** Hear no more. */
  dispose(): void {
    clearTimeout(this.patience);
    this.store.host.model.off("msg:custom", this.hear);
  }

  private readonly hear: Listener = (message, buffers) => {
    const told = message as Told;
    if (told.told === "progress") {
      this.asked.value = { progress: told.text };
      this.wait();
    }
    if (told.told === "failed") this.end({ problem: told.reason });
    const columns = buffers?.[0];
    if (told.told === "rest" && columns) {
      const { graph, notes, cut } = told;
      this.store.replace(graph, { columns, notes, cut });
      this.end({});
    }
  };

  private wait(): void {
    clearTimeout(this.patience);
    this.patience = setTimeout(() => this.end({ problem: SILENCE }), this.patienceMilliseconds);
  }

  private end(asked: RequestState): void {
    clearTimeout(this.patience);
    const { next, answered } = this;
    [this.next, this.answered] = [undefined, undefined];
    this.asked.value = asked;
    if (next && !asked.problem) this.ask(next, answered);
    else if (!asked.problem) answered?.();
  }
}
