// The entry of the third bundle: the chart library, with only the parts of Vega that the charts need.

import { transforms } from "vega-dataflow";
import { axisticks, datajoin, encode, legendentries, scale, sortitems, stack } from "vega-encode";
import { expressionInterpreter } from "vega-interpreter";
import { parse } from "vega-parser";
import {
  aggregate,
  collect,
  extent,
  facet,
  filter,
  formula,
  multiextent,
  prefacet,
  proxy,
  relay,
  sieve,
  values,
} from "vega-transforms";
import { View } from "vega-view";
import { bound, mark, overlap, render, viewlayout } from "vega-view-transforms";
import type { ChartContent, ChartData, ChartLibrary, Drawing, Lines, PlotBox } from "./state/bundles.ts";

// js/compiled_charts.mjs refuses a specification that needs another one.
Object.assign(
  transforms,
  { aggregate, collect, extent, facet, filter, formula, multiextent, prefacet, proxy, relay, sieve, values },
  { axisticks, datajoin, encode, legendentries, scale, sortitems, stack },
  { bound, mark, overlap, render, viewlayout },
);

export const draw: ChartLibrary["draw"] = async (place, name, content, onPointed, onPlot) => {
  const spec = COMPILED_CHARTS[name];
  if (!spec)
    throw new Error(`there is no chart ${name}: the widget and its charts are of different versions`);
  const style = getComputedStyle(place);
  const view = viewOf(coloured(spec, (property) => style.getPropertyValue(property).trim()));
  view.tooltip((_handler, event, _item, value) => onPointed(event, linesOf(value)));
  place.replaceChildren();
  view.initialize(place);
  const chart = new Chart(place, view, onPlot);
  await chart.start(content);
  return chart;
};

/** A view of a compiled specification; expressions are interpreted, for a page's policy may forbid new functions. */
export function viewOf(spec: object): View {
  return new View(parse(spec, {}, { ast: true }), { expr: expressionInterpreter, renderer: "svg" });
}

/** A chart on the screen: takes new rows and sizes one at a time, the last one first. */
class Chart implements Drawing {
  #isRunning = false;
  #waiting: ChartContent | undefined;
  #isResized = false;
  #isOver = false;

  constructor(
    readonly place: HTMLElement,
    readonly view: View,
    readonly onPlot: (plot: PlotBox) => void,
  ) {}

  async start(content: ChartContent): Promise<void> {
    showIn(this.view, content);
    await this.view.runAsync();
    this.#tellPlot();
  }

  show(content: ChartContent): void {
    this.#waiting = content;
    void this.#run();
  }

  fit(): void {
    const width = this.place.clientWidth;
    if (this.#isOver || !width || width === this.view.width()) return;
    this.view.width(width);
    this.#isResized = true;
    void this.#run();
  }

  finalize(): void {
    this.#isOver = true;
    this.view.finalize();
  }

  toSvg(surface: string): Promise<string> {
    return this.#standing(surface, () => this.view.toSVG());
  }

  toPng(surface: string, scale: number): Promise<string> {
    return this.#standing(surface, () => this.view.toImageURL("png", scale));
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while ((this.#waiting || this.#isResized) && !this.#isOver) {
      if (this.#waiting) showIn(this.view, this.#waiting);
      this.#waiting = undefined;
      this.#isResized = false;
      await this.view.runAsync();
    }
    this.#isRunning = false;
    if (!this.#isOver) this.#tellPlot();
  }

  #tellPlot(): void {
    const [left, top] = this.view.origin();
    this.onPlot({ left, top, width: this.view.width(), height: this.view.height() });
  }

  /** On a page a chart has the page behind it, alone it needs a surface of its own. */
  async #standing<Made>(surface: string, make: () => Promise<Made>): Promise<Made> {
    const usual = this.view.background();
    this.view.background(surface);
    try {
      return await make();
    } finally {
      this.view.background(usual);
    }
  }
}

/** Give a view its rows and height, to be drawn when it runs next. */
export function showIn(view: View, { data, height }: ChartContent): void {
  for (const [name, rows] of Object.entries(copied(data))) view.data(name, rows);
  view.height(height);
}

/** Vega marks the rows that it is given as its own. */
function copied(data: ChartData): Record<string, object[]> {
  return Object.fromEntries(
    Object.entries(data).map(([name, rows]) => [name, rows.map((row) => ({ ...row }))]),
  );
}

function linesOf(value: unknown): Lines {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value)
    .map(([title, text]) => [title, String(text)] as const)
    .filter(([, text]) => text);
}

const COLOUR = /^var\((--[\w-]+)\)$/;

/** The same specification, with `var(--name)` replaced by the colour of that name. */
export function coloured<Value>(value: Value, colourOf: (name: string) => string): Value {
  if (typeof value === "string") {
    const name = COLOUR.exec(value)?.[1];
    return (name ? colourOf(name) : value) as Value;
  }
  if (Array.isArray(value)) return value.map((each) => coloured(each, colourOf)) as Value;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, coloured(each, colourOf)]),
  ) as Value;
}
