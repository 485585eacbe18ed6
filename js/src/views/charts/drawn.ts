// A chart on the screen: takes new data and sizes one at a time, the last one first come.

import type { Result, VisualizationSpec } from "vega-embed";
import embed from "vega-embed";
import { expressionInterpreter } from "vega-interpreter";
import type { Assets } from "../../data/model.ts";

/** Rows by the name of the data that a specification reads them from. */
export type Data = Readonly<Record<string, readonly object[]>>;
/** What a chart shows, and how high its plot is for that. */
export interface Content {
  readonly data: Data;
  readonly height: number;
}
/** Where the axes end, in pixels within the chart. */
export interface PlotBox {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}
/** What a tooltip says, line by line. */
export type Lines = readonly (readonly [title: string, text: string])[];
/** Told of what the pointer is on; no lines where it is on nothing. */
type Pointed = (event: MouseEvent, lines: Lines) => void;

type VegaView = Result["view"];

/** A drawn chart. */
export class Drawn {
  private isRunning = false;
  private waiting: Content | undefined;
  private isResized = false;
  private isOver = false;

  private constructor(
    private readonly place: HTMLElement,
    readonly view: VegaView,
    private readonly finish: () => void,
    private readonly onPlot: (plot: PlotBox) => void,
  ) {}

  /** Draw a specification with its first data into an element; its tooltips and the size of its plot are told. */
  static async draw(
    place: HTMLElement,
    charts: Assets["charts"],
    name: string,
    { data, height }: Content,
    onPointed: Pointed,
    onPlot: (plot: PlotBox) => void,
  ): Promise<Drawn> {
    const spec = charts[name];
    if (!spec)
      throw new Error(`there is no chart ${name}: the widget and its charts are of different versions`);
    const { view, finalize } = await embed(
      place,
      { ...themed(spec, place), datasets: copied(data), height } as VisualizationSpec,
      {
        actions: false,
        ast: true,
        defaultStyle: false,
        expr: expressionInterpreter,
        renderer: "svg",
        tooltip: (_: unknown, event: MouseEvent, __: unknown, value: unknown) =>
          onPointed(event, linesOf(value)),
      },
    );
    const drawn = new Drawn(place, view, finalize, onPlot);
    drawn.tellPlot();
    return drawn;
  }

  /** Show these rows; what was asked for while the last ones were drawn is drawn next. */
  show(content: Content): void {
    this.waiting = content;
    void this.run();
  }

  /** Fit the chart to its place. */
  fit(): void {
    const width = this.place.clientWidth;
    if (this.isOver || !width || width === this.view.width()) return;
    this.view.width(width);
    this.isResized = true;
    void this.run();
  }

  /** Take the chart away. */
  finalize(): void {
    this.isOver = true;
    this.finish();
  }

  private async run(): Promise<void> {
    if (this.isRunning) return;
    this.isRunning = true;
    while ((this.waiting || this.isResized) && !this.isOver) {
      if (this.waiting) this.take(this.waiting);
      this.waiting = undefined;
      this.isResized = false;
      await this.view.runAsync();
    }
    this.isRunning = false;
    if (!this.isOver) this.tellPlot();
  }

  private take({ data, height }: Content): void {
    for (const [name, rows] of Object.entries(copied(data))) this.view.data(name, rows);
    this.view.height(height);
  }

  private tellPlot(): void {
    const [left, top] = this.view.origin();
    this.onPlot({ left, top, width: this.view.width(), height: this.view.height() });
  }
}

/** Vega marks the rows that it is given as its own. */
function copied(data: Data): Record<string, object[]> {
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

/** The specification with `var(--name)` replaced by what the custom property is at this element. */
function themed(spec: VisualizationSpec, element: Element): VisualizationSpec {
  const style = getComputedStyle(element);
  return coloured(spec, (name) => style.getPropertyValue(name).trim()) as VisualizationSpec;
}

/** The same structure, its colours looked up by name. */
export function coloured(value: unknown, colourOf: (name: string) => string): unknown {
  if (typeof value === "string") {
    const name = COLOUR.exec(value)?.[1];
    return name ? colourOf(name) : value;
  }
  if (Array.isArray(value)) return value.map((each) => coloured(each, colourOf));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, coloured(each, colourOf)]));
}
