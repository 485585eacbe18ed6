// Loads the code that comes after the first paint, once for all widgets of a page, and says what that code exports.

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { ChartContent, StandingChart } from "../analysis/chart_content.ts";
import { gunzippedText, importedText } from "../lib/packing.ts";

/** What the names that the panels import of the widget's modules stand for, in the order that js/shared.mjs gives them. */
export type Lent = readonly unknown[];

/** What a chart on the page shows, and how high its plot is for that. */
export type DrawnContent = Pick<ChartContent, "data" | "height">;

/** The colours of a picture. */
export type PictureTheme = "light" | "dark";

/** Where the axes end, in pixels within the chart. */
export interface PlotBox {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** What a tooltip says, line by line. */
export type Lines = readonly (readonly [title: string, text: string])[];

/** A drawn chart. */
export interface Drawing {
  /** Show these rows; what was asked for while the last ones were drawn is drawn next. */
  show(content: DrawnContent): void;
  /** Fit the chart to its place. */
  fit(): void;
  /** Take the chart away. */
  finalize(): void;
}

/** What js/src/charts.ts exports. */
export interface ChartLibrary {
  /** Draw a chart, by its name in tfprof_widget/charts/, with its first rows; pointer and plot are told. */
  draw(
    place: HTMLElement,
    name: string,
    content: DrawnContent,
    onPointed: (event: MouseEvent, lines: Lines) => void,
    onPlot: (plot: PlotBox) => void,
  ): Promise<Drawing>;
  toSvg(chart: StandingChart, theme: PictureTheme): Promise<string>;
  /** A picture as the address of its data, so many dots to a pixel of CSS. */
  toPng(chart: StandingChart, theme: PictureTheme, scale: number): Promise<string>;
}

/** A gzipped source text. */
type Packed = Uint8Array | DataView;

/** What has come, or why it has not; neither while nothing is known yet. */
interface Arrived<Code> {
  readonly code?: Code;
  readonly problem?: string;
}

/** Code as one widget sees it: whether it is there, and how to have it loaded. */
export interface Later<Code> {
  readonly arrived: ReadonlySignal<Arrived<Code>>;
  /** Have it loaded; who asks while it is being loaded waits for the same. */
  ask(): Promise<void>;
}

/** Code that a page unpacks at most once: from the first widget that asks and has its bytes. */
export class Bundle<Code> {
  readonly #arrived: Signal<Arrived<Code>> = signal({});
  #turn: Promise<void> = Promise.resolve();

  /** The bundle for a widget that gets and unpacks it so; asked again after a failure, it tries again. */
  from(get: () => Promise<Packed>, unpack: (packed: Packed) => Promise<Code>): Later<Code> {
    let asking: Promise<void> | undefined;
    const load = async (): Promise<void> => {
      try {
        // A kernel may be busy for long, so nobody waits for the bytes of others; unpacking is done in turn, and so once.
        const packed = await get();
        const turn = this.#turn.then(() => this.#unpack(() => unpack(packed)));
        this.#turn = turn.catch(() => {});
        await turn;
      } catch (error) {
        if (!this.#arrived.peek().code) {
          this.#arrived.value = { problem: error instanceof Error ? error.message : String(error) };
        }
      }
      asking = undefined;
    };
    const ask = async (): Promise<void> => {
      if (this.#arrived.peek().code) return;
      asking ??= load();
      await asking;
    };
    return { arrived: this.#arrived, ask };
  }

  async #unpack(unpack: () => Promise<Code>): Promise<void> {
    if (!this.#arrived.peek().code) this.#arrived.value = { code: await unpack() };
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

/** The module of a gzipped source text. */
export async function moduleOf<Module>(packed: Packed): Promise<Module> {
  const source = await gunzippedText(packed).catch(() => {
    throw new Error("its code is damaged or incomplete; run the cell or write the page again");
  });
  return importedText(source);
}
