// What is painted of a picture of a graph: boxes filled by their share, edges as wide as the bytes that go along them.

import type { Route, Shape } from "../lib/shapes.ts";
import { cutInTheMiddle } from "./chart_content.ts";
import type { Scene, SceneBox, SceneEdge } from "./graph_scene.ts";
import { type GraphLook, LEAST_ON_PATH, wordsOf } from "./graph_words.ts";

/** Colours as CSS writes them: #rrggbb but for those of forced colours, which are not mixed. */
export interface GraphColours {
  readonly text: string;
  readonly dim: string;
  readonly surface: string;
  readonly line: string;
  readonly accent: string;
  readonly fill: string;
  readonly edge: string;
  readonly path: string;
  readonly pathEdge: string;
  readonly passes: readonly string[];
  readonly isForced: boolean;
}

/** The colours of a picture, by the custom properties that have them; forced colours are the system's. */
export function graphColours(token: (name: string) => string, isForced = false): GraphColours {
  const colour = (name: string, system: string): string => (isForced ? system : token(name));
  return {
    text: colour("--text", "CanvasText"),
    dim: colour("--dim", "GrayText"),
    surface: colour("--surface", "Canvas"),
    line: colour("--line", "CanvasText"),
    accent: colour("--accent", "Highlight"),
    fill: colour("--own", "Canvas"),
    edge: isForced ? "GrayText" : mixed(token("--surface"), token("--dim"), 0.4),
    path: colour("--warning", "LinkText"),
    pathEdge: isForced ? "LinkText" : mixed(token("--surface"), token("--warning"), 0.72),
    passes: ["--forward", "--backward", "--update"].map(token),
    isForced,
  };
}

export const TITLE = 12;
export const DETAIL = 10.5;
const LETTER = 7.2;
export const SMALL_LETTER = 5.7;
const WIDEST_EDGE = 7;
const WIDEST_BACK = 2.5;
const STRONGEST = 0.72;
const FADED = 0.45;
const CONTROL_DASH = [1.5, 2.5];
const ARROW = 5;
/** Below the title of an open box. */
const RULE = 24;

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

/** All shapes of a picture, the lowest first. */
export function graphShapes(scene: Scene, look: GraphLook, colours: GraphColours): Shape[] {
  const most = mostOf(scene, look.values);
  const widest = scene.edges.reduce(
    (most, { route }, at) => (route.length ? Math.max(most, look.bytes[at] as number) : most),
    1,
  );
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
      fill: mixed(colours.surface, colours.dim, 0.06, colours.isForced),
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
    textShape(x + 10, y + 17, "▾", colours.dim, { anchor: "middle" }),
    textShape(x + 20, y + 17, name, colours.text, { isBold: true, anchor: "start" }),
    ...(left > detail.length
      ? [textShape(x + width - 10, y + 17, detail, colours.dim, { size: DETAIL, anchor: "end" as const })]
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
    fill: mixed(colours.surface, colours.fill, strength, colours.isForced),
    ...outline(at, look, colours),
    ...faded,
  });
  const middle = x + width / 2;
  const shift = look.opens[at] ? 6 : 0;
  const name = cutInTheMiddle(title, Math.floor((width - (look.opens[at] ? 36 : 12)) / LETTER));
  const below = cutInTheMiddle(detail, Math.floor((width - 10 - 2 * shift) / SMALL_LETTER));
  if (look.opens[at]) shapes.push(textShape(x + 10, y + 16.5, "▸", colours.text, { size: DETAIL, ...faded }));
  const high = below ? y + 16.5 : y + height / 2 + 4;
  shapes.push(textShape(middle + shift, high, name, colours.text, { isBold: true, ...faded }));
  if (below) shapes.push(textShape(middle + shift, y + 30, below, colours.text, { size: DETAIL, ...faded }));
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
  return critical && !critical.onPath[at] && (critical.slack[at] as number) > 0 ? FADED : 1;
}

function isCritical({ critical }: GraphLook, at: number): boolean {
  return (critical?.onPath[at] ?? 0) >= LEAST_ON_PATH;
}

/** Where the keys are, what is selected, what is on the critical path; else a thin line. */
function outline(
  at: number,
  look: GraphLook,
  colours: GraphColours,
): Pick<Shape, "stroke" | "lineWidth" | "dash"> {
  const isOnPath = isCritical(look, at);
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
  { from, to, route, isBack, sources }: SceneEdge,
  at: number,
  widest: number,
  look: GraphLook,
  colours: GraphColours,
): Shape[] {
  if (!route.length) return [];
  const wide = 1 + (WIDEST_EDGE - 1) * Math.sqrt((look.bytes[at] as number) / widest);
  const areCritical = isCritical(look, from) && isCritical(look, to);
  const isOnPath = !isBack && areCritical && (look.critical?.edges[at] ?? false);
  const isNear = look.cursor >= 0 && (from === look.cursor || to === look.cursor);
  const colour = isOnPath ? colours.pathEdge : isNear ? colours.accent : colours.edge;
  const width = Math.min(wide, isBack ? WIDEST_BACK : wide);
  const tip = ARROW + width / 2;
  const line: Shape = {
    kind: "line",
    route: to < 0 ? route : shortened(route, tip - 1),
    stroke: colour,
    lineWidth: width,
    ...(isBack ? { dash: [5, 3] } : sources.length ? {} : { dash: CONTROL_DASH }),
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

/** A text, in the middle of where it stands if nothing else is said. */
export function textShape(
  x: number,
  y: number,
  written: string,
  fill: string,
  more: { readonly size?: number; readonly isBold?: boolean; readonly anchor?: "start" | "middle" | "end" },
): Shape {
  return { kind: "text", x, y, text: written, size: TITLE, anchor: "middle", fill, ...more };
}

/** A colour with so much of another in it. */
export function mixed(under: string, over: string, part: number, isForced = false): string {
  if (isForced) return part > 0.5 ? over : under;
  const [one, other] = [under, over].map((colour) =>
    [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)),
  ) as [number[], number[]];
  const parts = one.map((each, at) => Math.round(each + part * ((other[at] as number) - each)));
  return `#${parts.map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}
