// What the widget needs of the notebook around it: the traits of its model, and the assets that many widgets share.

import type { VisualizationSpec } from "vega-embed";
import type { Bundle } from "../state/later.ts";

/** The model of the widget: its traits, by the names that Python gives them. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  /** Say something to Python; a saved result has nobody to say it to. */
  send?(message: unknown): void;
  on(event: string, listener: Listener): void;
  off(event: string, listener: Listener): void;
}

/** Hears of a change of a trait, or, on "msg:custom", what Python says and the bytes that come with it. */
export type Listener = (message?: unknown, buffers?: readonly DataView[]) => void;

/** What is shipped once for all widgets of a notebook. */
export interface Assets {
  /** The bundle of js/src/pictures.ts, gzipped. */
  readonly pictures: Uint8Array | DataView;
  /** The chart specifications of tfprof_widget/widget/charts.py, by name. */
  readonly charts: Readonly<Record<string, VisualizationSpec>>;
  /** The page of a report, with places for its parts; see tfprof_widget/widget/report.py. */
  readonly page: string;
}

/** The bundle that draws charts, timeline and memory. */
export type Pictures = typeof import("../panels.ts");

/** The model, and what comes after the first paint. */
export interface Host {
  readonly model: Model;
  readonly assets: () => Promise<Assets>;
  readonly pictures: Bundle<Pictures>;
}
