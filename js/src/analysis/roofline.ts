// The roofline: what rows compute for each byte that they move, and how fast, as tfprof_widget/charts/roofline.py has it.

import { BOUNDS, ROOFLINE_TITLE, SIZES } from "../data/chart_words.ts";
import { cacheOf, type Profile } from "../data/profile.ts";
import type { Measure } from "../engine/measures.ts";
import { chosenSteps } from "../engine/steps.ts";
import type { View } from "../engine/view.ts";
import { shortTime, shortUnits, visible } from "../lib/format.ts";
import type { ChartContent, ChartKind } from "./chart_content.ts";

/** The most float operations and bytes a second, and those of a usual round. */
interface Roof {
  readonly floatOps: number;
  readonly bytes: number;
  readonly usualFloatOps: number;
  readonly usualBytes: number;
}

/** What Python sends of the roofline. */
interface RoofColumns {
  readonly movedBytes: Float64Array;
  readonly workKnown: Int32Array;
  readonly stepNanos: Float64Array;
  readonly roof: Roof | null;
  /** The roof in words, empty where there is none; and why, or what else there is to say. */
  readonly words: readonly string[];
}

/** What is told of a dot: titles and texts. */
type ToldLines = readonly (readonly [title: string, text: string])[];

/** A point of the plot. */
interface Point {
  readonly intensity: number;
  readonly rate: number;
}

/** A dot, as tfprof_widget/charts/roofline.py names its fields, with the row that it is of. */
export interface RooflineDot extends Point {
  readonly name: string;
  readonly label: string;
  /** On which side of its own end the name is: to where there is more room. */
  readonly align: "left" | "right";
  readonly size: number;
  readonly bound: string;
  readonly opacity: number;
  readonly row: number;
  readonly lines: ToldLines;
}

/** What the chart shows. */
export interface Roofline {
  readonly dots: readonly RooflineDot[];
  readonly frame: readonly Point[];
  readonly roof: readonly Point[];
  readonly band: readonly (Point & { readonly usual: number })[];
  readonly bounds: readonly { readonly bound: string }[];
  readonly notes: readonly string[];
}

const UNKNOWN = BOUNDS[BOUNDS.length - 1] as string;
const UNLIT = 0.3;

/** The columns of a profile; null where nothing ran, or where they were not sent. */
function roofColumns(profile: Profile): RoofColumns | null {
  return cacheOf(profile).kept("roof", () => {
    const { late } = profile;
    const movedBytes = late?.("nodes.moved_bytes", "numbers", true) as Float64Array | undefined;
    if (!late || !movedBytes) return null;
    const [floatOps, bytes, usualFloatOps, usualBytes] = late("roof.rates", "numbers") as Float64Array;
    return {
      movedBytes,
      workKnown: late("nodes.work_known", "indices") as Int32Array,
      stepNanos: late("roof.step_nanos", "numbers") as Float64Array,
      roof:
        floatOps && bytes && usualFloatOps && usualBytes
          ? { floatOps, bytes, usualFloatOps, usualBytes }
          : null,
      words: late("roof.words", "texts") as readonly string[],
    };
  });
}

/** The most float operations a second; 0 where that is not known. */
export function peakRate(profile: Profile): number {
  return roofColumns(profile)?.roof?.floatOps ?? 0;
}

/** What a row does itself: its time, its work, and for how much of the time that is known. */
interface Rates {
  readonly seconds: number;
  readonly floatOps: number;
  readonly bytes: number;
  readonly known: number;
}

/** What the rows of a view do themselves in the mean of the chosen steps. */
function ratesOf(view: View, { movedBytes, workKnown }: RoofColumns): Rates[] {
  const { measures } = view.sums;
  const column = (name: Measure): Float64Array => measures.column(name) as Float64Array;
  const [micros, floatOps, runs] = [column("micros"), column("float_ops"), column("runs")];
  const ofKernels = column("accelerator_micros");
  const [microUnit, kernelUnit] = [1e6 * measures.unit("micros"), 1e6 * measures.unit("accelerator_micros")];
  const [flopUnit, runUnit] = [measures.unit("float_ops"), measures.unit("runs")];
  const { tree, weight } = view.forest;
  return Array.from(view.places, (place) => {
    const sums = { seconds: 0, floatOps: 0, bytes: 0, known: 0 };
    for (let at = tree.rowStart[place] as number; at < (tree.rowStart[place + 1] as number); at++) {
      const node = tree.rows[at] as number;
      if (!((weight[at] as number) > 0 && (runs[node] as number) > 0)) continue;
      // What ran on an accelerator takes the time of its kernels.
      const onAccelerator = ofKernels[node] as number;
      const seconds = onAccelerator > 0 ? onAccelerator / kernelUnit : (micros[node] as number) / microUnit;
      sums.seconds += seconds;
      sums.floatOps += (floatOps[node] as number) / flopUnit;
      sums.bytes += ((runs[node] as number) * (movedBytes[node] as number)) / runUnit;
      if (workKnown[node]) sums.known += seconds;
    }
    return { ...sums, known: sums.seconds > 0 ? sums.known / sums.seconds : 1 };
  });
}

/** What a row takes its time for; the last of BOUNDS where that is not known. */
function boundOf({ seconds, floatOps, bytes, known }: Rates, roof: Roof | null): string {
  if (!roof || !(seconds > 0) || known < SIZES.leastKnown) return UNKNOWN;
  const [computing, moving] = [floatOps / roof.floatOps, bytes / roof.bytes];
  if (Math.max(computing, moving) < SIZES.overhead * seconds) return BOUNDS[2];
  return computing >= moving ? BOUNDS[0] : BOUNDS[1];
}

/** The roofline of a view; null where no row has a dot. `isLit` says of a row whether it is selected, or nothing is. */
export function rooflineOf(view: View, profile: Profile, isLit: (row: number) => boolean): Roofline | null {
  const columns = roofColumns(profile);
  if (!columns) return null;
  const { roof } = columns;
  const rates = ratesOf(view, columns);
  const whole = sumOf(rates, "seconds");
  // A logarithm has no place for nothing.
  const hasDot = ({ seconds, floatOps, bytes }: Rates): boolean => Math.min(seconds, floatOps, bytes) > 0;
  const shown = [...rates.keys()]
    .filter((row) => hasDot(rates[row] as Rates) && secondsOf(rates, row) >= SIZES.leastPart * whole)
    .sort((one, other) => secondsOf(rates, other) - secondsOf(rates, one))
    .slice(0, SIZES.mostDots);
  if (!shown.length) return null;
  const points = shown.map((row) => {
    const { seconds, floatOps, bytes } = rates[row] as Rates;
    return { intensity: floatOps / bytes, rate: floatOps / seconds };
  });
  const frame = cornersOf(points, roof);
  const named = namedOf(
    points,
    frame,
    shown.map((row) => secondsOf(rates, row) / whole),
  );
  const middle = Math.sqrt(frame[0].intensity * frame[1].intensity);
  const dots = shown.map((row, place): RooflineDot => {
    const own = rates[row] as Rates;
    const name = view.name(row);
    const bound = boundOf(own, roof);
    return {
      name: visible(name),
      label: named.has(place) ? visible(name.slice(name.lastIndexOf("/") + 1)) : "",
      align: (points[place] as Point).intensity > middle ? "right" : "left",
      ...(points[place] as Point),
      size: SIZES.leastDot + ((SIZES.mostDot - SIZES.leastDot) * own.seconds) / whole,
      bound,
      opacity: isLit(row) ? 1 : UNLIT,
      row,
      lines: [["row", visible(name)], ...told(own, roof, bound)],
    };
  });
  return {
    dots,
    frame,
    roof: roofLine(roof, frame),
    band: bandOf(roof, frame),
    bounds: BOUNDS.filter((each) => dots.some(({ bound }) => bound === each)).map((bound) => ({ bound })),
    notes: notesOf(view, columns, rates, hasDot),
  };
}

function secondsOf(rates: readonly Rates[], row: number): number {
  return (rates[row] as Rates).seconds;
}

function sumOf(rates: readonly Rates[], key: keyof Rates): number {
  return rates.reduce((sum, each) => sum + each[key], 0);
}

/** The ends of both axes, which are powers of ten. */
function cornersOf(points: readonly Point[], roof: Roof | null): [Point, Point] {
  const across = [...points.map(({ intensity }) => intensity), ...(roof ? [roof.floatOps / roof.bytes] : [])];
  const up = [...points.map(({ rate }) => rate), ...(roof ? [2 * roof.floatOps] : [])];
  const ends = (values: readonly number[], room: number): [number, number] => [
    10 ** Math.floor(Math.log10(Math.min(...values) / room)),
    10 ** Math.ceil(Math.log10(room * Math.max(...values))),
  ];
  const [[left, right], [low, high]] = [ends(across, 2), ends(up, 1)];
  return [
    { intensity: left, rate: low },
    { intensity: right, rate: high },
  ];
}

/** Where a point lies, in parts of the width from the left and of the height from below. */
export function placeOf({ intensity, rate }: Point, frame: readonly Point[]): [across: number, up: number] {
  const [first, last] = frame as [Point, Point];
  const part = (value: number, low: number, high: number): number =>
    Math.log10(value / low) / Math.log10(high / low);
  return [part(intensity, first.intensity, last.intensity), part(rate, first.rate, last.rate)];
}

/** The dots that have their names beside them: the costliest for which there is room. */
function namedOf(points: readonly Point[], frame: readonly Point[], parts: readonly number[]): Set<number> {
  const named = new Map<number, readonly [number, number]>();
  points.forEach((point, index) => {
    const [x, y] = placeOf(point, frame);
    const isFree = [...named.values()].every(
      ([left, low]) => Math.abs(x - left) >= SIZES.near[0] || Math.abs(y - low) >= SIZES.near[1],
    );
    if ((parts[index] as number) >= SIZES.leastNamed && isFree && named.size < SIZES.mostNames)
      named.set(index, [x, y]);
  });
  return new Set(named.keys());
}

/** The line: rising with the memory's rate up to the ridge, then flat. */
function roofLine(roof: Roof | null, [first, last]: [Point, Point]): Point[] {
  if (!roof) return [];
  const left = Math.max(first.intensity, first.rate / roof.bytes);
  return [left, roof.floatOps / roof.bytes, last.intensity].map((intensity) => ({
    intensity,
    rate: Math.min(intensity * roof.bytes, roof.floatOps),
  }));
}

/** The area between the best and the median round, at the points where it bends. */
function bandOf(roof: Roof | null, [first, last]: [Point, Point]): Roofline["band"] {
  if (!roof) return [];
  const low = first.rate;
  const left = Math.max(first.intensity, low / roof.bytes);
  const bends = [
    left,
    Math.max(left, low / roof.usualBytes),
    Math.max(left, roof.usualFloatOps / roof.usualBytes),
    roof.floatOps / roof.bytes,
    last.intensity,
  ];
  return [...new Set(bends)]
    .sort((one, other) => one - other)
    .map((intensity) => ({
      intensity,
      rate: Math.min(intensity * roof.bytes, roof.floatOps),
      usual: Math.max(Math.min(intensity * roof.usualBytes, roof.usualFloatOps), low),
    }));
}

function told({ seconds, floatOps, bytes }: Rates, roof: Roof | null, bound: string): ToldLines {
  const [rate, bandwidth] = [floatOps / seconds, bytes / seconds];
  return [
    ["bound by", roof ? bound : ""],
    ["time", shortTime(1e6 * seconds)],
    ["intensity", `${(floatOps / bytes).toFixed(2)} FLOP/B`],
    ["rate", shortUnits(rate, "FLOP/s")],
    ["of peak", roof ? percent(rate / roof.floatOps) : ""],
    ["memory", shortUnits(bandwidth, "B/s")],
    ["of bandwidth", roof ? percent(bandwidth / roof.bytes) : ""],
  ];
}

function percent(part: number, decimals = 1): string {
  return `${(100 * part).toFixed(decimals)} %`;
}

function notesOf(
  view: View,
  { roof, words, stepNanos }: RoofColumns,
  rates: readonly Rates[],
  hasDot: (each: Rates) => boolean,
): string[] {
  const notes = words.filter(Boolean);
  if (roof) notes.push(...utilisation(view, stepNanos, rates, roof));
  const leftOut = sumOf(
    rates.filter((each) => !hasDot(each)),
    "seconds",
  );
  const part = leftOut / sumOf(rates, "seconds");
  if (part >= SIZES.leastTold) {
    notes.push(`${percent(part, 0)} of the op time is of rows without FLOP or bytes`);
  }
  return notes;
}

/** How much of the machine a step uses by the clock, and by the time of its ops. */
function utilisation(view: View, stepNanos: Float64Array, rates: readonly Rates[], roof: Roof): string[] {
  const steps = chosenSteps(view.profile, view.options);
  const nanos = steps.reduce((sum, step) => sum + (stepNanos[step] as number), 0);
  const seconds = steps.length ? nanos / steps.length / 1e9 : 0;
  const [floatOps, busy] = [sumOf(rates, "floatOps"), sumOf(rates, "seconds")];
  if (!seconds || !floatOps) return [];
  const [byClock, byOps] = [seconds, busy].map((time) => percent(floatOps / (time * roof.floatOps)));
  return [
    `a step does ${shortUnits(floatOps, "FLOP")} in ${shortTime(1e6 * seconds)}: ${byClock} of what the machine can, ` +
      `${byOps} by the time of its ops`,
  ];
}

/** The chart of the roofline. */
export const ROOFLINE: ChartKind = {
  name: "roofline",
  content: ({ view, graph }): ChartContent => {
    const found = rooflineOf(view, graph.profile, () => true);
    if (!found) throw new Error("no row that is shown has a time, float operations and bytes");
    const { notes, ...data } = found;
    const dots = data.dots.map(({ row: _, lines: __, ...dot }) => dot);
    return {
      spec: "roofline",
      data: { ...data, dots },
      height: SIZES.rooflineHeight,
      title: ROOFLINE_TITLE,
      notes,
      of: "mean",
    };
  },
};
