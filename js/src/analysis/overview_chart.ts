// The overview and the layers as pictures, drawn as tfprof_widget/charts/overview.py draws them: boxes and texts.

import { OVERVIEW_COLOURS, OVERVIEW_PARTS, OVERVIEW_TITLES, SIZES } from "../data/chart_words.ts";
import type { Overview, Part } from "../data/graphs.ts";
import { share, shortTime, visible } from "../lib/format.ts";
import {
  type ChartContent,
  type ChartKind,
  type ChartSubject,
  cutInTheMiddle,
  wrapped,
} from "./chart_content.ts";
import { costliest, layerRows, layersInOrder, longestPasses, PASS_NAMES } from "./layer_rows.ts";

type Tone = "bold" | "text" | "dim" | "on" | "right" | "dim_right";

/** A text at its place. */
interface Written {
  readonly x: number;
  readonly y: number;
  readonly text: string;
}

/** What is drawn so far, in pixels from the upper left corner. */
class Drawing {
  top = 0;
  readonly boxes: object[] = [];
  readonly texts: Record<Tone, Written[]> = { bold: [], text: [], dim: [], on: [], right: [], dim_right: [] };

  constructor(readonly width: number) {}

  box(x: number, width: number, y: number, height: number, part: string): void {
    this.boxes.push({ x, x2: x + width, y, y2: y + height, part: hasColour(part) ? colourOf(part) : "rest" });
  }

  text(x: number, y: number, text: string, tone: Tone = "text"): void {
    this.texts[tone].push({ x, y, text });
  }

  /** A text in as many lines as it needs. */
  lines(text: string, tone: Tone = "text"): void {
    for (const line of wrapped(visible(text), Math.floor(this.width / SIZES.letter))) {
      this.text(0, this.top, line, tone);
      this.top += SIZES.overviewLine;
    }
  }

  /** Parts with their colours, side by side, in as many lines as they need. */
  keys(told: readonly (readonly [part: string, text: string])[], left: number): void {
    let x = left;
    for (const [part, text] of told) {
      const width = SIZES.letter * (text.length + 4);
      if (x > left && x + width > this.width) {
        x = left;
        this.top += SIZES.overviewLine;
      }
      this.box(x, 8, this.top + 2, 8, part);
      this.text(x + 12, this.top, text, "dim");
      x += width;
    }
    this.top += SIZES.overviewLine;
  }

  content(kind: keyof typeof OVERVIEW_TITLES, of: ChartContent["of"]): ChartContent {
    const data = { boxes: this.boxes, ...this.texts };
    return {
      spec: "drawing",
      data,
      height: this.top,
      title: OVERVIEW_TITLES[kind],
      signals: { down: this.top },
      of,
    };
  }
}

function colourOf(part: string): string {
  return (OVERVIEW_COLOURS as Readonly<Record<string, string>>)[part] ?? part;
}

function hasColour(part: string): boolean {
  return (OVERVIEW_PARTS as readonly string[]).includes(colourOf(part));
}

function overviewContent(subject: ChartSubject): ChartContent {
  const { overview, profile } = subject.graph;
  const drawing = new Drawing(subject.width - 2 * SIZES.margin);
  drawing.lines(overview.sentence);
  for (const [label, parts] of [["the cell", overview.cell] as const, ["a step", overview.step] as const]) {
    if (!parts.length) continue;
    drawing.top += SIZES.gap;
    drawBar(drawing, label, parts);
  }
  drawStrip(drawing, overview);
  if (profile.steps.length) {
    drawing.top += SIZES.gap;
    drawLayers(drawing, subject);
  }
  return drawing.content("overview", "told");
}

/** The parts end to end; what does not fit into its part stands below. */
function drawBar(drawing: Drawing, label: string, parts: readonly Part[]): void {
  const whole = parts.reduce((sum, { nanos }) => sum + nanos, 0);
  const room = drawing.width - SIZES.label - SIZES.timeColumn;
  const { top } = drawing;
  let x: number = SIZES.label;
  drawing.text(0, top + 5, label, "dim");
  drawing.text(drawing.width, top + 5, shortTime(whole / 1000), "right");
  const below: [string, string][] = [];
  for (const part of parts) {
    const width = (room * part.nanos) / whole;
    const told = `${part.name}, ${shortTime(part.nanos / 1000)}, ${part.share} %`;
    drawing.box(x, width, top, SIZES.overviewBar, part.key);
    if (width >= SIZES.letter * (told.length + 1) && hasColour(part.key))
      drawing.text(x + 5, top + 5, told, "on");
    else below.push([part.key, told]);
    x += width;
  }
  drawing.top += SIZES.overviewBar + 4;
  if (below.length) drawing.keys(below, SIZES.label);
}

function drawStrip(drawing: Drawing, { bars, steps }: Overview): void {
  if (!bars.length) return;
  drawing.top += SIZES.gap;
  drawing.lines(["Steps", ...steps].join(" · "), "dim");
  const usual = bars.map(({ nanos }) => nanos).sort((one, other) => one - other)[bars.length >> 1] as number;
  const highest = Math.min(SIZES.highestStep * usual, Math.max(1, ...bars.map(({ most }) => most)));
  const each = drawing.width / Math.max(bars.length, 40);
  bars.forEach(({ nanos, traced }, place) => {
    const height = Math.min((SIZES.strip * nanos) / highest, SIZES.strip);
    drawing.box(place * each, each * 0.85, drawing.top + SIZES.strip - height, height, "steps");
    if (traced >= 0) drawing.box(place * each, each * 0.85, drawing.top + SIZES.strip + 2, 2, "first");
  });
  drawing.top += SIZES.strip + 6;
}

/** The costliest layers in the order of the model, each with the time of its passes. */
function drawLayers(drawing: Drawing, { graph, view: { options } }: ChartSubject): void {
  const view = layersInOrder(graph.profile, options);
  const rows = view ? costliest(layerRows(view)).filter(({ micros }) => micros > 0) : [];
  if (!view || !rows.length) return;
  const most = longestPasses(rows);
  const whole = view.grandTotal("micros") / view.unit("micros");
  drawing.keys(
    PASS_NAMES.map((pass) => [pass, pass]),
    0,
  );
  const names = SIZES.namesShare * drawing.width;
  const room = drawing.width - names - SIZES.timeColumn - SIZES.shareColumn;
  for (const { name, type, depth, micros, passes } of rows) {
    const indent = 10 * (depth - 1);
    const kind = type ? ` ${type}` : "";
    const letters = Math.floor((names - indent) / SIZES.letter) - 1;
    drawing.text(indent, drawing.top, cutInTheMiddle(`${visible(name)}${visible(kind)}`, letters));
    drawing.box(names, room, drawing.top, 11, "groove");
    let x = names;
    PASS_NAMES.forEach((pass, place) => {
      const width = most ? (room * (passes[place] as number)) / most : 0;
      if (passes[place]) drawing.box(x, width, drawing.top, 11, pass);
      x += width;
    });
    drawing.text(drawing.width - SIZES.shareColumn, drawing.top, shortTime(micros), "right");
    drawing.text(drawing.width, drawing.top, share(micros, whole), "dim_right");
    drawing.top += SIZES.overviewLine + 2;
  }
}

function layersContent(subject: ChartSubject): ChartContent {
  const drawing = new Drawing(subject.width - 2 * SIZES.margin);
  if (subject.graph.profile.steps.length) drawLayers(drawing, subject);
  if (!drawing.boxes.length) throw new Error("there are no layers to draw: none ran");
  return drawing.content("layers", "mean");
}

/** The overview. */
export const OVERVIEW: ChartKind = { name: "overview", content: overviewContent };

/** The layers. */
export const LAYERS: ChartKind = { name: "layers", content: layersContent };
