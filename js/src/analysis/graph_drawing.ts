// What is painted of a picture of a graph: boxes filled by their share, edges as wide as the bytes that go along them.

import { share, short, visible } from "../lib/format.ts";
import type { Route, Shape } from "../lib/shapes.ts";
import { cutInTheMiddle } from "./chart_content.ts";
import type { Box } from "./graph_boxes.ts";
import type { Scene, SceneBox, SceneEdge } from "./graph_scene.ts";

/** What boxes are filled by. */
export const FILLS = ["time", "memory", "FLOP"] as const;
export type Fill = (typeof FILLS)[number];

/** The measure behind each. */
export const FILL_MEASURES = { time: "micros", memory: "bytes", FLOP: "float_ops" } as const;

/** Colours as CSS writes them: #rrggbb but for those of forced colours, which are not mixed. */
export interface GraphColours {
  readonly text: string;
  readonly dim: string;
  readonly surface: string;
  readonly line: string;
  readonly accent: string;
  readonly fill: string;
  readonly path: string;
  readonly passes: readonly string[];
  readonly isForced: boolean;
}

/** What the boxes of a picture are and cost, by their places in it. */
export interface GraphLook {
  readonly fill: Fill;
  /** What each box takes, and all together: in microseconds, bytes or float operations. */
  readonly values: readonly number[];
  readonly whole: number;
  /** The times of forward, backward and update of each box. */
  readonly passes: readonly (readonly number[])[];
  /** The bytes that go along each edge. */
  readonly bytes: readonly number[];
  /** Which boxes are selected themselves (2), or hold something that is (1). */
  readonly selected: readonly number[];
  /** Which boxes hold what is searched for; null while nothing is. */
  readonly found: readonly boolean[] | null;
  /** Which boxes are on the critical path and which could take longer; null where that is not known. */
  readonly critical: { readonly onPath: readonly boolean[]; readonly hasSlack: readonly boolean[] } | null;
  /** Which boxes can be opened. */
  readonly opens: readonly boolean[];
  readonly cursor: number;
  readonly hovered: number;
}

const TITLE = 12;
const DETAIL = 10.5;
const LETTER = 7.2;
const SMALL_LETTER = 5.7;
const WIDEST_EDGE = 7;
const WIDEST_BACK = 2.5;
const STRONGEST = 0.72;
const FADED = 0.45;
const ARROW = 5;
/** Below the title of an open box. */
export const RULE = 24;

/** The shares that the legend shows, strongest last: of the box that takes most. */
export const LEGEND_STEPS = [0.04, 0.25, 0.6, 1] as const;

/** How strongly a box is filled, from 0 to 1, by its part of the box that takes most. */
export function strengthOf(part: number): number {
  return part > 0 ? STRONGEST * Math.sqrt(Math.min(part, 1)) : 0;
}

/** The most that a closed box takes. */
export function mostOf({ boxes }: Scene, values: readonly number[]): number {
  return boxes.reduce((most, { isOpen }, at) => (isOpen ? most : Math.max(most, values[at] as number)), 0);
}

/** What a box is called, and what stands below: its class, and what it takes. */
export function wordsOf(box: Box, value: number, fill: Fill): readonly [title: string, detail: string] {
  const title = visible(box.label) + (box.times > 1 ? ` × ${box.times}` : "");
  const nodes = box.nodes.length / box.times;
  const told = box.kind === "layer" && box.type === "scope" ? "" : visible(box.type);
  const what = box.times > 1 ? `${Math.round(nodes).toLocaleString("en")} nodes each` : told;
  return [title, [what, value ? amountOf(value, fill) : ""].filter(Boolean).join(" · ")];
}

/** A value in its unit. */
export function amountOf(value: number, fill: Fill): string {
  return fill === "FLOP" ? `${short("float_ops", value)} FLOP` : short(FILL_MEASURES[fill], value);
}

/** All shapes of a picture, the lowest first. */
export function graphShapes(scene: Scene, look: GraphLook, colours: GraphColours): Shape[] {
  const most = mostOf(scene, look.values);
  const widest = Math.max(1, ...look.bytes);
  const open = scene.boxes.flatMap((each, at) => (each.isOpen ? openBox(each, at, look, colours) : []));
  const edges = scene.edges.flatMap((edge, at) => edgeShapes(edge, at, widest, look, colours));
  const closed = scene.boxes.flatMap((each, at) =>
    each.isOpen ? [] : closedBox(each, at, most, look, colours),
  );
  return [...open, ...edges, ...closed];
}

function openBox(each: SceneBox, at: number, look: GraphLook, colours: GraphColours): Shape[] {
  const { x, y, width, height, box } = each;
  const [title, detail] = wordsOf(box, look.values[at] as number, look.fill);
  const letters = Math.floor((width - 30) / LETTER);
  const name = cutInTheMiddle(title, letters);
  const left = letters - name.length;
  return [
    {
      kind: "box",
      x,
      y,
      width,
      height,
      radius: 6,
      fill: mixed(colours.surface, colours.dim, 0.06, colours),
      ...outline(at, look, colours),
    },
    {
      kind: "line",
      route: [
        ["M", x, y + RULE],
        ["L", x + width, y + RULE],
      ],
      stroke: colours.line,
    },
    text(x + 10, y + 17, "▾", colours.dim, { anchor: "middle" }),
    text(x + 20, y + 17, name, colours.text, { isBold: true, anchor: "start" }),
    ...(left > detail.length
      ? [text(x + width - 10, y + 17, detail, colours.dim, { size: DETAIL, anchor: "end" as const })]
      : []),
  ];
}

function closedBox(
  each: SceneBox,
  at: number,
  most: number,
  look: GraphLook,
  colours: GraphColours,
): Shape[] {
  const { x, y, width, height, box } = each;
  const value = look.values[at] as number;
  const strength = most ? strengthOf(value / most) : 0;
  const [title, detail] = wordsOf(box, value, look.fill);
  const opacity = opacityOf(at, look);
  const faded = opacity < 1 ? { opacity } : {};
  const shapes: Shape[] = [];
  if (box.times > 1) {
    // What stands for several looks like a pile.
    for (const shift of [6, 3]) {
      const pile = { kind: "box" as const, x: x + shift, y: y - shift, width, height, radius: 5 };
      shapes.push({ ...pile, fill: colours.surface, stroke: colours.dim, lineWidth: 0.75, ...faded });
    }
  }
  // The surface first: lines below are not to be seen through it.
  shapes.push({ kind: "box", x, y, width, height, radius: 5, fill: colours.surface });
  shapes.push({
    kind: "box",
    x,
    y,
    width,
    height,
    radius: 5,
    fill: mixed(colours.surface, colours.fill, strength, colours),
    ...outline(at, look, colours),
    ...faded,
  });
  const middle = x + width / 2;
  const shift = look.opens[at] ? 6 : 0;
  const name = cutInTheMiddle(title, Math.floor((width - (look.opens[at] ? 36 : 12)) / LETTER));
  const below = cutInTheMiddle(detail, Math.floor((width - 10 - 2 * shift) / SMALL_LETTER));
  if (look.opens[at]) shapes.push(text(x + 10, y + 16.5, "▸", colours.text, { size: DETAIL, ...faded }));
  const high = below ? y + 16.5 : y + height / 2 + 4;
  shapes.push(text(middle + shift, high, name, colours.text, { isBold: true, ...faded }));
  if (below) shapes.push(text(middle + shift, y + 30, below, colours.text, { size: DETAIL, ...faded }));
  shapes.push(...passBar(each, look.passes[at] ?? [], colours));
  return shapes;
}

/** A bar along the lower edge: how much of the time is forward, backward and update. */
function passBar(
  { x, y, width, height }: SceneBox,
  passes: readonly number[],
  colours: GraphColours,
): Shape[] {
  const whole = passes.reduce((sum, each) => sum + each, 0);
  if (passes.filter(Boolean).length < 2) return [];
  let left = x + 6;
  return passes.map((each, pass): Shape => {
    const size = ((width - 12) * each) / whole;
    left += size;
    const fill = colours.passes[pass] as string;
    return { kind: "box", x: left - size, y: y + height - 5, width: size, height: 3, radius: 0, fill };
  });
}

function opacityOf(at: number, { found, critical }: GraphLook): number {
  if (found && !found[at]) return FADED;
  return critical?.hasSlack[at] && !critical.onPath[at] ? FADED : 1;
}

/** Where the keys are, what is selected, what is on the critical path; else a thin line. */
function outline(
  at: number,
  look: GraphLook,
  colours: GraphColours,
): Pick<Shape, "stroke" | "lineWidth" | "dash"> {
  const isOnPath = look.critical?.onPath[at] ?? false;
  if (at === look.cursor || look.selected[at] === 2) {
    const isBoth = at === look.cursor && look.selected[at] === 2;
    return { stroke: colours.accent, lineWidth: isBoth ? 3 : 2, dash: look.selected[at] === 2 ? [] : [4, 2] };
  }
  if (look.selected[at] === 1) return { stroke: colours.accent, lineWidth: 1.5 };
  if (isOnPath) return { stroke: colours.path, lineWidth: 1.75 };
  return {
    stroke: at === look.hovered ? colours.text : colours.dim,
    lineWidth: at === look.hovered ? 1.25 : 0.75,
  };
}

function edgeShapes(
  { from, to, route, isBack }: SceneEdge,
  at: number,
  widest: number,
  look: GraphLook,
  colours: GraphColours,
): Shape[] {
  if (!route.length) return [];
  const wide = 1 + (WIDEST_EDGE - 1) * Math.sqrt((look.bytes[at] as number) / widest);
  const isOnPath = Boolean(look.critical?.onPath[from] && look.critical.onPath[to] && !isBack);
  const isNear = look.cursor >= 0 && (from === look.cursor || to === look.cursor);
  const colour = isOnPath
    ? colours.path
    : isNear
      ? colours.accent
      : mixed(colours.surface, colours.dim, 0.4, colours);
  const width = Math.min(wide, isBack ? WIDEST_BACK : wide);
  const tip = ARROW + width / 2;
  const line: Shape = {
    kind: "line",
    route: to < 0 ? route : shortened(route, tip - 1),
    stroke: colour,
    lineWidth: width,
    ...(isBack ? { dash: [5, 3] } : {}),
    ...(look.found || (look.critical && !isOnPath) ? { opacity: 0.6 } : {}),
  };
  return to < 0 ? [line] : [line, { kind: "line", route: arrowAt(route, tip), fill: colour }];
}

/** A route that ends a little before its end, so that the tip of an arrow has room there. */
function shortened(route: Route, by: number): Route {
  const [step, ...last] = route.at(-1) as Route[number];
  const [x, y] = last.slice(-2) as [number, number];
  const { across, down } = headingOf(route);
  const end = [x - by * across, y - by * down];
  return [...route.slice(0, -1), [step, ...last.slice(0, -2), ...end]];
}

/** Where a route goes at its end, as parts of one. */
function headingOf(route: Route): { readonly across: number; readonly down: number } {
  const [, ...last] = route.at(-1) as Route[number];
  const [x, y] = last.slice(-2) as [number, number];
  const [, ...before] = route.at(-2) ?? ["M", x, y - 1];
  const [nearX, nearY] = (last.length > 2 ? last.slice(2, 4) : before.slice(-2)) as [number, number];
  const length = Math.hypot(x - nearX, y - nearY) || 1;
  return { across: (x - nearX) / length, down: (y - nearY) / length };
}

/** The tip of an arrow at the end of a route. */
function arrowAt(route: Route, size: number): Route {
  const [, ...last] = route.at(-1) as Route[number];
  const [x, y] = last.slice(-2) as [number, number];
  const { across, down } = headingOf(route);
  const point = (back: number, side: number): [number, number] => [
    x - back * across - side * down,
    y - back * down + side * across,
  ];
  return [
    ["M", ...point(size, size * 0.7)],
    ["L", x, y],
    ["L", ...point(size, -size * 0.7)],
  ];
}

function text(
  x: number,
  y: number,
  written: string,
  fill: string,
  more: { readonly size?: number; readonly isBold?: boolean; readonly anchor?: "start" | "middle" | "end" },
): Shape {
  return { kind: "text", x, y, text: written, size: TITLE, anchor: "middle", fill, ...more };
}

/** A colour with so much of another in it. */
export function mixed(
  under: string,
  over: string,
  part: number,
  { isForced }: Pick<GraphColours, "isForced">,
): string {
  if (isForced) return part > 0.5 ? over : under;
  const [one, other] = [under, over].map((colour) =>
    [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)),
  ) as [number[], number[]];
  const parts = one.map((each, at) => Math.round(each + part * ((other[at] as number) - each)));
  return `#${parts.map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}

/** A box in a sentence: what it is, what it takes, what comes in and goes out. */
export function sentenceOf(scene: Scene, look: GraphLook, at: number): string {
  const each = scene.boxes[at] as SceneBox;
  const value = look.values[at] as number;
  const [title, detail] = wordsOf(each.box, 0, look.fill);
  const nodes = each.box.nodes.length;
  const ends = (isInto: boolean): string => {
    const near = scene.edges.flatMap((edge, place) => {
      const [here, there] = isInto ? [edge.to, edge.from] : [edge.from, edge.to];
      return here === at ? [{ there, bytes: look.bytes[place] as number }] : [];
    });
    const told = near.slice(0, 4).map(({ there, bytes }) => {
      const name = there < 0 ? "outside" : wordsOf((scene.boxes[there] as SceneBox).box, 0, look.fill)[0];
      return bytes ? `${name} (${short("bytes", bytes)})` : name;
    });
    if (near.length > 4) told.push(`${near.length - 4} more`);
    return told.length
      ? `${isInto ? "from" : "to"} ${told.join(", ")}`
      : `${isInto ? "no inputs" : "no outputs"} drawn`;
  };
  const state = each.isOpen ? "open" : look.opens[at] ? "closed" : "";
  const critical = look.critical?.onPath[at]
    ? "on the critical path"
    : look.critical?.hasSlack[at]
      ? "has slack"
      : "";
  return [
    [title, detail].filter(Boolean).join(", "),
    value ? `${amountOf(value, look.fill)}, ${share(value, look.whole)} of all` : "",
    nodes > 1 ? `${nodes.toLocaleString("en")} nodes` : "",
    state,
    critical,
    ends(true),
    ends(false),
  ]
    .filter(Boolean)
    .join("; ");
}
