// What the widget needs of the notebook around it: the traits of its model, and the assets that many widgets share.

import type { VisualizationSpec } from "vega-embed";

/** The model of the widget: its traits, by the names that Python gives them. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

/** What is shipped once for all widgets of a notebook. */
export interface Assets {
  /** The bundle of js/src/vega.ts, gzipped. */
  readonly vega: Uint8Array | DataView;
  /** The chart specifications of tfprof_widget/charts.py, by name. */
  readonly charts: Readonly<Record<string, VisualizationSpec>>;
  /** The page of a report, with places for its parts; see tfprof_widget/report.py. */
  readonly page: string;
}

/** The model, and where the assets come from. */
export interface Host {
  readonly model: Model;
  readonly assets: () => Promise<Assets>;
}
