// What is chosen in the history of a cell, and the questions to the kernel that follow from it.

import { type Signal, signal } from "@preact/signals";
import { camelCased } from "../../data/graphs.ts";
import { type CellHistory, type ComparedBy, historyOf, type RunComparison } from "../../data/history.ts";
import type { Listener, Model } from "../../data/model.ts";

/** What is shown of two groups: their comparison, that it is on its way, or why there is none. */
interface ShownComparison {
  readonly comparison: RunComparison | null;
  readonly isAsking?: boolean;
  readonly problem?: string;
}

const NO_KERNEL =
  "Comparing other runs needs a kernel, and this page has none: run the cell again in the notebook.";

/** The groups that are compared, and their comparison. */
export class HistoryState {
  readonly history: CellHistory;
  readonly before: Signal<readonly number[]>;
  readonly after: Signal<readonly number[]>;
  readonly by: Signal<ComparedBy> = signal("op");
  readonly shown: Signal<ShownComparison>;

  constructor(private readonly model: Model) {
    this.history = historyOf(model);
    this.before = signal(this.history.before);
    this.after = signal(this.history.after);
    this.shown = signal({ comparison: this.history.comparison });
  }

  /** Hear the kernel's answers; returns what ends this. */
  listen(): () => void {
    this.model.on("msg:custom", this.#hear);
    if (!this.shown.peek().comparison && this.before.peek().length) this.#ask();
    return () => this.model.off("msg:custom", this.#hear);
  }

  /** Take other runs for a side; runs that were on the other side leave it if some are left there. */
  choose(side: "before" | "after", places: readonly number[]): void {
    const other = side === "before" ? this.after : this.before;
    const rest = other.peek().filter((place) => !places.includes(place));
    this[side].value = places;
    if (rest.length) other.value = rest;
    this.#ask();
  }

  /** Take a single run for a side; or put it to those of the side, and if it is there take it off. */
  pick(side: "before" | "after", place: number, isAdded: boolean): void {
    const own = this[side].peek();
    const rest = own.filter((each) => each !== place);
    const added = rest.length < own.length ? rest : [...own, place].sort((one, other) => one - other);
    this.choose(side, isAdded && added.length ? added : [place]);
  }

  #ask(): void {
    const [before, after] = [this.before.peek(), this.after.peek()];
    const { comparison } = this.history;
    if (
      comparison &&
      comparison.before.join() === before.join() &&
      comparison.after.join() === after.join()
    ) {
      this.shown.value = { comparison };
    } else if (this.model.send) {
      this.shown.value = { comparison: this.shown.peek().comparison, isAsking: true };
      this.model.send({ request: "comparison", before, after });
    } else {
      this.shown.value = { comparison: null, problem: NO_KERNEL };
    }
  }

  readonly #hear: Listener = (message) => {
    const said = message as { answer?: string; reason?: string; comparison?: unknown };
    if (said.answer === "comparison failed")
      this.shown.value = { comparison: null, problem: said.reason ?? "" };
    if (said.answer !== "comparison") return;
    const comparison = camelCased(said.comparison) as RunComparison;
    const isWanted =
      comparison.before.join() === this.before.peek().join() &&
      comparison.after.join() === this.after.peek().join();
    if (isWanted) this.shown.value = { comparison };
  };
}
