// The timeline as a chart that stands alone: spans of lanes, as tfprof_widget/charts/timeline.py has them.

import { CATEGORIES, SIZES, TIMELINE_TITLE, TRANSFERS } from "../data/chart_words.ts";
import type { Profile } from "../data/profile.ts";
import { chosenSteps } from "../engine/steps.ts";
import { visible } from "../lib/format.ts";
import { type ChartContent, type ChartKind, type ChartSubject, namesWidth } from "./chart_content.ts";
import { type Lane, laneLabel } from "./lanes.ts";
import { addLaneSpans, GAP, type PaintedLane, paintedLanes, Spans, type Viewport } from "./spans.ts";
import { type Layout, laidDeviceLabel, layoutOf, type Slices, slicesOf } from "./timeline_layout.ts";

const ALL_CATEGORIES = [...CATEGORIES, TRANSFERS];

interface NamedLane {
  readonly name: string;
  readonly painted: PaintedLane;
}

function contentOf({ view: { profile, options }, width, span }: ChartSubject): ChartContent {
  const steps = chosenSteps(profile, options);
  const [layout, slices] = [layoutOf(profile, steps), slicesOf(profile)];
  if (!layout.slices) throw new Error("no run recorded when its ops ran");
  const viewport = span ?? { from: 0, to: layout.end };
  const all = namedLanes(profile, slices, layout);
  const lanes = busiest(all);
  const rows = lanes.flatMap((lane) =>
    sliceRows(profile, slices, lane, viewport, width * SIZES.columnsAPixel),
  );
  const found = new Set(rows.map(({ category }) => category));
  const names = lanes.map(({ name }) => name);
  return {
    spec: "timeline",
    data: {
      lanes: ["step", ...names].map((lane) => ({ lane })),
      slices: rows,
      steps: stepRows(profile, layout, viewport),
      categories: ALL_CATEGORIES.filter((each) => found.has(each)).map((category) => ({ category })),
    },
    height: SIZES.laneHeight * (1 + lanes.length),
    title: TIMELINE_TITLE,
    signals: { ...namesWidth(names, width), begin: viewport.from / 1e9, end: viewport.to / 1e9 },
    notes: lanes.length < all.length ? [`the busiest ${lanes.length} of ${all.length} lanes`] : [],
    of: "each",
  };
}

function namedLanes(profile: Profile, slices: Slices, layout: Layout): readonly NamedLane[] {
  const painted = paintedLanes(profile, slices, layout, null);
  const tracks = layout.tracks.flatMap((track) => track.lanes.map((lane) => ({ track, lane })));
  return tracks.map(({ track, lane }, at) => {
    const device = laidDeviceLabel(slices, lane.device, profile.nodes.devices);
    return { name: visible(`${device} · ${laneLabel(track, lane)}`), painted: painted[at] as PaintedLane };
  });
}

function busiest(lanes: readonly NamedLane[]): readonly NamedLane[] {
  if (lanes.length <= SIZES.mostLanes) return lanes;
  const work = lanes.map(({ painted }) => workIn(painted.lane));
  const order = [...lanes.keys()].sort((one, other) => (work[other] as number) - (work[one] as number));
  const kept = order.slice(0, SIZES.mostLanes).sort((one, other) => one - other);
  return kept.map((lane) => lanes[lane] as NamedLane);
}

function workIn({ start, end }: Lane): number {
  return end.reduce((sum, each, slice) => sum + each - (start[slice] as number), 0);
}

function sliceRows(
  { nodes }: Profile,
  { node, step }: Slices,
  { name, painted }: NamedLane,
  viewport: Viewport,
  width: number,
) {
  const spans = new Spans();
  addLaneSpans(spans, 0, painted, viewport, width, step);
  const { from, to } = viewport;
  const at = (column: number): number => (from + (column * (to - from)) / width) / 1e9;
  const rows = [];
  for (let span = 0; span < spans.length; span++) {
    const [colour, slice] = [spans.colour[span] as number, spans.slice[span] as number];
    if (colour === GAP) continue;
    const shown = nodes.names[node[painted.lane.execution[slice] ?? -1] ?? -1] ?? "";
    rows.push({
      lane: name,
      begin: at(spans.left[span] as number),
      end: at(spans.right[span] as number),
      category: ALL_CATEGORIES[colour] as string,
      label: visible(shown.slice(shown.lastIndexOf("/") + 1)),
    });
  }
  return rows;
}

function stepRows({ steps, stepNames }: Profile, layout: Layout, { from, to }: Viewport) {
  return layout.steps
    .filter((step) => step.from < to && step.to > from)
    .map((step) => ({
      lane: "step",
      begin: Math.max(step.from, from) / 1e9,
      end: Math.min(step.to, to) / 1e9,
      label: visible(`step ${steps[step.step]} ${stepNames[step.step] ?? ""}`.trim()),
    }));
}

/** The timeline. */
export const TIMELINE: ChartKind = { name: "timeline", content: contentOf };
