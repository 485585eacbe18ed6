// What a chart that stands alone is made of, as tfprof_widget/charts/chart.py has it: rows, signals, title and caption.

import { type CHART_NAMES, SIZES } from "../data/chart_words.ts";
import type { Graph } from "../data/graphs.ts";
import type { Metric } from "../data/protocol.ts";
import { chosenSteps } from "../engine/steps.ts";
import type { View } from "../engine/view.ts";
import { visible } from "../lib/format.ts";
import { deviceLabel } from "./devices.ts";

/** Rows by the name of the data that a specification reads them from. */
export type ChartData = Readonly<Record<string, readonly object[]>>;

/** What charts are drawn of, and what a caption says of the result. */
export interface ChartSubject {
  readonly view: View;
  readonly metric: Metric;
  readonly graph: Graph;
  readonly name: string;
  readonly about: string;
  /** Of the picture, in pixels. */
  readonly width: number;
  /** The part of the timeline that is drawn, in nanoseconds; null for all. */
  readonly span: { readonly from: number; readonly to: number } | null;
}

/** What a specification is filled with. */
export interface ChartContent {
  readonly spec: string;
  readonly data: ChartData;
  /** How high the plot is. */
  readonly height: number;
  readonly title: string;
  readonly signals?: Readonly<Record<string, number | string>>;
  /** For the caption. */
  readonly notes?: readonly string[];
  /** Drawn of the mean of the steps that are shown, of each of them, or of what the title tells. */
  readonly of: "mean" | "each" | "told";
}

/** A chart with all that stands around it. */
export interface StandingChart extends Pick<ChartContent, "spec" | "data" | "height"> {
  readonly width: number;
  readonly signals: Readonly<Record<string, number | string>>;
  readonly title: readonly string[];
  readonly subtitle: readonly string[];
}

/** A chart by the name that users call it; `content` throws an error that says why there is none. */
export interface ChartKind {
  readonly name: (typeof CHART_NAMES)[number];
  readonly content: (subject: ChartSubject) => ChartContent;
}

/** The chart with its title and caption. */
export function standing(content: ChartContent, subject: ChartSubject): StandingChart {
  const { spec, data, height, signals = {} } = content;
  const letters = (subject.width - 2 * SIZES.margin) / SIZES.letter;
  const title = [visible(subject.name), content.title].filter(Boolean).join(" · ");
  return {
    spec,
    data,
    height,
    signals,
    width: subject.width,
    title: wrapped(title, Math.floor(letters / SIZES.titleLetter)),
    subtitle: wrapped(captionOf(subject, content), Math.floor(letters)).map((line) =>
      line.replace(/ ·$/, ""),
    ),
  };
}

function captionOf(subject: ChartSubject, { of, notes = [] }: ChartContent): string {
  const parts = [measuredIn(subject, of), devicesOf(subject), visible(subject.about), ...notes];
  return parts.filter(Boolean).join(" · ");
}

function measuredIn({ view }: ChartSubject, of: ChartContent["of"]): string {
  const steps = chosenSteps(view.profile, view.options);
  if (!steps.length) return "nothing was run";
  if (of === "told") return "";
  const [name = "", ...others] = new Set(steps.map((step) => view.profile.stepNames[step] ?? ""));
  const ofKind = name && !others.length ? ` of ${visible(name)}` : "";
  if (view.options.step >= 0) return `step ${view.options.step}${ofKind}`;
  if (steps.length === 1) return `one step${ofKind}`;
  return `${of === "mean" ? "mean of " : ""}${steps.length.toLocaleString("en")} steps${ofKind}`;
}

// Devices on which ops are placed, and not a stream or the like.
const CANONICAL = /^.*\/(device:gpu|gpu|device:cpu|cpu):\d+$/;

function devicesOf({ view: { profile } }: ChartSubject): string {
  const { devices } = profile.nodes;
  const found = devices.filter((device) => CANONICAL.test(device));
  const labels = [...new Set(found.map((device) => visible(deviceLabel(device, devices))))];
  const more = labels.length - SIZES.mostDevices;
  return labels.slice(0, SIZES.mostDevices).join(", ") + (more > 0 ? ` and ${more} more devices` : "");
}

/** A text in lines of at most so many letters, broken at blanks; longer words stay whole. */
export function wrapped(text: string, letters: number): string[] {
  const lines = [""];
  for (const word of text.split(" ").filter(Boolean)) {
    const last = lines.at(-1) as string;
    if (last && lengthOf(last) + 1 + lengthOf(word) > letters) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}

/** The room for the names of rows: two fifths of the picture at most. */
export function namesWidth(names: readonly string[], width: number): Record<string, number> {
  const letters = Math.floor((0.4 * width) / SIZES.letter);
  const longest = Math.max(0, ...names.map(lengthOf));
  return { names: Math.floor(SIZES.letter * Math.min(longest, letters)) + 10, letters };
}

/** In characters, as Python counts them. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}

/** A name of at most so many letters: of a longer one its beginning and its end. */
export function cutInTheMiddle(name: string, most: number): string {
  const letters = Array.from(name);
  const half = Math.floor((most - 1) / 2);
  if (letters.length <= most) return name;
  return `${letters.slice(0, most - 1 - half).join("")}…${letters.slice(-half).join("")}`;
}
