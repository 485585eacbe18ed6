// Loads the code that comes after the first paint, once, and lends it the modules that it shares with the widget.

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Assets } from "../data/model.ts";

/** What the names that the bundle imports of the widget's modules stand for, in the order that js/shared.mjs gives them. */
export type Lent = readonly unknown[];

/** The bundle as js/build.mjs wraps it. */
interface LaterModule<Exports> {
  readonly default: (lent: Lent) => Exports;
}

/** The panels, drawn with this widget's own engine, state and Preact. */
export async function loadPanels<Exports>({ pictures }: Assets, lent: Lent): Promise<Exports> {
  const later = await imported<LaterModule<Exports>>(await unpacked(pictures));
  return later.default(lent);
}

async function unpacked(packed: Uint8Array | DataView): Promise<string> {
  const bytes = new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength);
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text().catch(() => {
    throw new Error("what draws it is damaged or incomplete; run the cell or write the page again");
  });
}

async function imported<Module>(source: string): Promise<Module> {
  const blob = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    return await import(/* @vite-ignore */ blob);
  } catch (refused) {
    // A page's policy may forbid the one and allow the other.
    return import(
      /* @vite-ignore */ `data:text/javascript;charset=utf-8,${encodeURIComponent(source)}`
    ).catch(() => {
      throw new Error(
        `this page does not let scripts be loaded (${refused}); widget.save_report(path) writes one that does`,
      );
    });
  } finally {
    URL.revokeObjectURL(blob);
  }
}

/** What has come, or why it has not; neither while nothing is known yet. */
interface Arrived<Value> {
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
