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

/** How far a race in the kernel is: the share of its time, and the rounds that are done. */
interface Race {
  readonly share: number;
  readonly rounds: number;
  readonly isStopping?: boolean;
}

/** What the kernel says of comparisons and races. */
interface Said extends Partial<Race> {
  readonly answer?: string;
  readonly reason?: string;
  readonly comparison?: unknown;
}

const NO_KERNEL =
  "To compare other runs takes the kernel, and this page has none: in the notebook, run the cell again.";

/** The groups that are compared, and their comparison. */
export class HistoryState {
  readonly history: CellHistory;
  readonly before: Signal<readonly number[]>;
  readonly after: Signal<readonly number[]>;
  readonly by: Signal<ComparedBy> = signal("op");
  readonly shown: Signal<ShownComparison>;
  /** The race that goes on, null where none does. */
  readonly race: Signal<Race | null> = signal(null);
  readonly hasKernel: boolean;

  constructor(private readonly model: Model) {
    this.history = historyOf(model);
    this.before = signal(this.history.before);
    this.after = signal(this.history.after);
    this.shown = signal({ comparison: this.history.comparison });
    this.hasKernel = model.send !== undefined;
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

  /** Let the kernel run the code of both sides in turns. */
  startRace(): void {
    if (this.race.peek()) return;
    this.model.on("msg:custom", this.#hearRace);
    this.race.value = { share: 0, rounds: 0 };
    this.shown.value = { comparison: this.shown.peek().comparison };
    this.model.send?.({ request: "race", before: this.before.peek(), after: this.after.peek() });
  }

  /** Let the kernel end the race after the block that it runs, and tell what is known. */
  stopRace(): void {
    const race = this.race.peek();
    if (!race) return;
    this.race.value = { ...race, isStopping: true };
    this.model.send?.({ request: "stop race" });
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

  // A listener of its own: the end of a race is heard when another tab is looked at, too.
  readonly #hearRace: Listener = (message) => this.#hear(message);

  readonly #hear: Listener = (message) => {
    const said = message as Said;
    if (said.answer === "race") {
      const { share = 0, rounds = 0 } = said;
      this.race.value = { ...this.race.peek(), share, rounds };
    }
    if (said.answer === "raced" || said.answer === "race failed") {
      this.race.value = null;
      this.model.off("msg:custom", this.#hearRace);
    }
    if (said.answer === "race failed")
      this.shown.value = { comparison: this.shown.peek().comparison, problem: said.reason ?? "" };
    if (said.answer === "comparison failed")
      this.shown.value = { comparison: null, problem: said.reason ?? "" };
    if (said.answer !== "comparison" && said.answer !== "raced") return;
    const comparison = camelCased(said.comparison) as RunComparison;
    if (said.answer === "raced") {
      this.before.value = comparison.before;
      this.after.value = comparison.after;
    }
    const isWanted =
      comparison.before.join() === this.before.peek().join() &&
      comparison.after.join() === this.after.peek().join();
    if (isWanted) this.shown.value = { comparison };
  };
}
