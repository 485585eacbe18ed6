// What is loaded when it is first asked for, and drawn when it has come.

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";

/** What has come, or why it has not; neither while nothing is known yet. */
export interface Arrived<Value> {
  readonly value?: Value;
  readonly problem?: string;
}

/** Loads at most once at a time; asked again after a failure, it tries again. */
export class Bundle<Value> {
  private readonly signal: Signal<Arrived<Value>> = signal({});
  private isLoading = false;

  constructor(private readonly load: () => Promise<Value>) {}

  get arrival(): ReadonlySignal<Arrived<Value>> {
    return this.signal;
  }

  /** Have it loaded, unless it is or will be. */
  async ask(): Promise<void> {
    if (this.isLoading || this.signal.peek().value) return;
    this.isLoading = true;
    try {
      this.signal.value = { value: await this.load() };
    } catch (error) {
      this.signal.value = { problem: error instanceof Error ? error.message : String(error) };
    }
    this.isLoading = false;
  }
}

/** The same promise to all who ask, until it fails. */
export function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | undefined;
  return () => {
    const promised = loading ?? load();
    loading = promised;
    promised.catch(() => {
      loading = undefined;
    });
    return promised;
  };
}
