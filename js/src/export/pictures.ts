// Pictures of charts: the charts of tfprof_widget/charts/ drawn of what is shown, as SVG or PNG.

import { ADVICE } from "../analysis/advice_chart.ts";
import {
  type ChartKind,
  type ChartSubject,
  type StandingChart,
  standing,
} from "../analysis/chart_content.ts";
import { SCOPES, STEPS } from "../analysis/chart_rows.ts";
import { OP_TYPES } from "../analysis/costs.ts";
import { MEMORY } from "../analysis/memory.ts";
import { LAYERS, OVERVIEW } from "../analysis/overview_chart.ts";
import { ROOFLINE } from "../analysis/roofline.ts";
import { TIMELINE } from "../analysis/timeline_chart.ts";
import { layoutOf } from "../analysis/timeline_layout.ts";
import { WORKERS } from "../analysis/workers_chart.ts";
import { SIZES } from "../data/chart_words.ts";
import { visibleLines } from "../lib/format.ts";
import { fromBase64 } from "../lib/packing.ts";
import type { ChartLibrary, PictureTheme } from "../state/bundles.ts";
import { stepsOf, stepsShown } from "../state/selection.ts";
import type { Store } from "../state/store.ts";
import { timeInSight } from "../state/time_in_sight.ts";

/** The charts that can stand alone, by the names and in the order of tfprof_widget/charts/kinds.py. */
export const CHARTS: readonly ChartKind[] = [
  OVERVIEW,
  LAYERS,
  OP_TYPES,
  SCOPES,
  STEPS,
  MEMORY,
  TIMELINE,
  WORKERS,
  ROOFLINE,
  ADVICE,
];

/** A chart that can be drawn, or why it cannot. */
export interface PictureChoice {
  readonly name: string;
  readonly chart?: StandingChart;
  readonly lacking?: string;
}

/** All charts of what is shown. */
export function pictureChoices(store: Store): readonly PictureChoice[] {
  const subject = subjectOf(store);
  return CHARTS.map(({ name, content }) => {
    if (!subject) return { name, lacking: "there is no result to draw" };
    try {
      return { name, chart: standing(content(subject), subject) };
    } catch (error) {
      return { name, lacking: error instanceof Error ? error.message : String(error) };
    }
  });
}

/** What charts are drawn of now; null where there is no result. */
export function subjectOf(store: Store): ChartSubject | null {
  const { view } = store.evaluation.peek();
  return (
    view && {
      view,
      metric: store.metric.peek(),
      graph: store.shown,
      name: store.title.peek(),
      about: String(store.host.model.get("_about") ?? ""),
      width: SIZES.width,
      span: spanOf(store),
    }
  );
}

/** The part of the timeline that is in sight; null for all of it, or where that is of other steps. */
function spanOf(store: Store): ChartSubject["span"] {
  const seen = timeInSight(store).peek();
  const layout = layoutOf(store.shown.profile, stepsOf(stepsShown(store).peek()));
  if (!seen || seen.layout !== layout) return null;
  const { from, to } = seen;
  return from <= 0 && to >= layout.end ? null : { from, to: Math.min(to, layout.end) };
}

/** The chart library, loaded if it is not there yet. */
async function libraryOf({ host: { charts } }: Store): Promise<ChartLibrary> {
  await charts.ask();
  const { code, problem } = charts.arrived.peek();
  if (code) return code;
  throw new Error(problem ?? "the chart library has not come yet; try again");
}

/** A chart as SVG. */
export async function svg(store: Store, chart: StandingChart, theme: PictureTheme = "light"): Promise<Blob> {
  const drawing = await (await libraryOf(store)).toSvg(chart, theme);
  // Controls are no XML, even as numbers.
  return new Blob([visibleLines(drawing)], { type: "image/svg+xml" });
}

/** A chart as PNG, which says how large it is to be printed. */
export async function png(store: Store, chart: StandingChart, theme: PictureTheme = "light"): Promise<Blob> {
  const address = await (await libraryOf(store)).toPng(chart, theme, SIZES.dotsAPixel);
  // The picture is in the address itself; a saved page may not fetch even that.
  const bytes = fromBase64(address.slice(address.indexOf(",") + 1));
  return new Blob([withResolution(bytes, SIZES.dotsAPixel * SIZES.pixelsAnInch) as BlobPart], {
    type: "image/png",
  });
}

const INCHES_A_METRE = 1 / 0.0254;
// Where the first part of a PNG, its head, ends.
const HEAD_END = 33;

/** A PNG with its resolution, in dots to an inch. */
export function withResolution(picture: Uint8Array, dots: number): Uint8Array {
  const part = new Uint8Array(21);
  const view = new DataView(part.buffer);
  view.setUint32(0, 9);
  part.set(new TextEncoder().encode("pHYs"), 4);
  const dotsAMetre = Math.round(dots * INCHES_A_METRE);
  view.setUint32(8, dotsAMetre);
  view.setUint32(12, dotsAMetre);
  part[16] = 1; // by the metre
  view.setUint32(17, checksum(part.subarray(4, 17)));
  const found = new Uint8Array(picture.length + part.length);
  found.set(picture.subarray(0, HEAD_END));
  found.set(part, HEAD_END);
  found.set(picture.subarray(HEAD_END), HEAD_END + part.length);
  return found;
}

/** The CRC-32 of a part of a PNG. */
function checksum(bytes: Uint8Array): number {
  let found = -1;
  for (const byte of bytes) {
    found ^= byte;
    for (let bit = 0; bit < 8; bit++) found = (found >>> 1) ^ (found & 1 ? 0xedb88320 : 0);
  }
  return ~found >>> 0;
}
