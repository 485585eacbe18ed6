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
import type { ChartData, StandingChart } from "./analysis/chart_content.ts";
import type { ChartLibrary, Drawing, DrawnContent, Lines, PlotBox } from "./state/bundles.ts";

// js/compiled_charts.mjs refuses a specification that needs another one.
Object.assign(
  transforms,
  { aggregate, collect, extent, facet, filter, formula, multiextent, prefacet, proxy, relay, sieve, values },
  { axisticks, datajoin, encode, legendentries, scale, sortitems, stack },
  { bound, mark, overlap, render, viewlayout },
);

export const draw: ChartLibrary["draw"] = async (place, name, content, onPointed, onPlot) => {
  const spec = COMPILED_CHARTS.page[name];
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

// In pixels, as in views/timeline/paint.ts.
const PAPER_WIDTH = 660;

/** A chart on the screen: takes new rows and sizes one at a time, the last one first. */
class Chart implements Drawing {
  #isRunning = false;
  #waiting: DrawnContent | undefined;
  #isResized = false;
  #isOver = false;

  constructor(
    readonly place: HTMLElement,
    readonly view: View,
    readonly onPlot: (plot: PlotBox) => void,
  ) {}

  /** Fit the text of a page right now, which cannot wait. */
  readonly #print = (): void => {
    if (this.view.width() > PAPER_WIDTH) this.view.width(PAPER_WIDTH).run();
  };
  readonly #printed = (): void => this.fit();

  async start(content: DrawnContent): Promise<void> {
    addEventListener("beforeprint", this.#print);
    addEventListener("afterprint", this.#printed);
    showIn(this.view, content);
    await this.view.runAsync();
    this.#tellPlot();
  }

  show(content: DrawnContent): void {
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
    removeEventListener("beforeprint", this.#print);
    removeEventListener("afterprint", this.#printed);
    this.view.finalize();
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
}

/** A compiled specification that stands alone, filled. */
interface CompiledChart {
  readonly title: object;
  readonly data?: readonly { readonly name: string }[];
  readonly signals?: readonly { readonly name: string }[];
}

/** The whole specification of a chart that stands alone, as tfprof_widget/charts/kinds.py describes it. */
export function filled(
  { spec: name, data, height, width, signals, title, subtitle }: StandingChart,
  theme: keyof typeof COMPILED_CHARTS.themes,
): object {
  const colours = COMPILED_CHARTS.themes[theme];
  const spec = coloured(COMPILED_CHARTS.alone[name], (each) => colours[each] as string) as CompiledChart;
  return {
    ...spec,
    width,
    height,
    title: { ...spec.title, text: title, subtitle },
    ...(spec.data && {
      data: spec.data.map((each) => (each.name in data ? { ...each, values: data[each.name] } : each)),
    }),
    ...(spec.signals && {
      signals: spec.signals.map((each) =>
        each.name in signals ? { ...each, value: signals[each.name] } : each,
      ),
    }),
  };
}

export const toSvg: ChartLibrary["toSvg"] = (chart, theme) =>
  drawn(filled(chart, theme), (view) => view.toSVG());

export const toPng: ChartLibrary["toPng"] = (chart, theme, scale) =>
  drawn(filled(chart, theme), (view) => view.toImageURL("png", scale));

/** What is made of a chart that nobody sees. */
async function drawn(spec: object, make: (view: View) => Promise<string>): Promise<string> {
  const view = viewOf(spec);
  try {
    return await make(view);
  } finally {
    view.finalize();
  }
}

/** Give a view its rows and height, to be drawn when it runs next. */
export function showIn(view: View, { data, height }: DrawnContent): void {
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
