// The picture of a graph: open boxes around the boxes in them, and the edges between boxes of the same scope.

import type { Numbers } from "../engine/columns.ts";
import { ROLES } from "../engine/layers.ts";
import type { Route } from "../lib/shapes.ts";
import type { Box, GraphBoxes } from "./graph_boxes.ts";
import { type PlacedScope, placedScope, planOf, type Room } from "./graph_columns.ts";
import type { ScopePlan } from "./graph_routes.ts";

/** A box in its place; `scope` is the place of the open box around it in the list, -1 for none. */
export interface SceneBox {
  readonly box: Box;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly isOpen: boolean;
  readonly scope: number;
}

/** An edge between two boxes of a scope, by their places in the list; -1 stands for what is outside of the scope. */
export interface SceneEdge {
  readonly from: number;
  readonly to: number;
  readonly scope: number;
  /** The graph nodes whose outputs go along it; none where it only has one wait for the other. */
  readonly sources: Int32Array;
  readonly isBack: boolean;
  /** Empty where it is not drawn. */
  readonly route: Route;
}

/** All that is drawn: open boxes come before those in them. */
export interface Scene {
  readonly boxes: readonly SceneBox[];
  readonly edges: readonly SceneEdge[];
  readonly width: number;
  readonly height: number;
}

/** What is known of the boxes of an open one, whichever of them are open. */
interface Scope {
  readonly children: readonly Box[];
  readonly plan: ScopePlan;
  readonly boxWidth: number;
  /** Edges that are told and not drawn: what gradients and updates take of the way forward. */
  readonly aside: readonly { readonly from: number; readonly to: number }[];
  /** The nodes that give to a child, by both places; the outside is -1. */
  readonly sources: Map<number, readonly number[] | Int32Array>;
}

const BOX_HEIGHT = 40;
const NARROWEST = 128;
const WIDEST = 200;
const TWIST = 22;
const LETTER = 7;
const MOST_LETTERS = 60;
const PADDING = 12;
const HEADER = 26;
const INNER_ROOM = 0.62;
const [BACKWARD, UPDATE] = [ROLES.indexOf("backward"), ROLES.indexOf("update")];

/** Makes pictures of one graph for one size of the screen; what does not change from one to the next is kept. */
export class GraphScenes {
  readonly #scopes = new Map<Box, Scope>();
  readonly #childOf: Int32Array;

  constructor(
    readonly boxes: GraphBoxes,
    private readonly room: Pick<Room, "width" | "height">,
  ) {
    this.#childOf = new Int32Array(boxes.profile.nodes.op.length).fill(-1);
  }

  /** The picture in which these boxes are open. */
  scene(isOpen: (box: Box) => boolean): Scene {
    const boxes: SceneBox[] = [];
    const edges: SceneEdge[] = [];
    const whole = this.#sized(this.boxes.whole, isOpen);
    const place = ({ scope, placed, inner }: Sized, left: number, top: number, above: number): void => {
      const places = scope.children.map((box, child) => {
        const [width, height] = [inner[child]?.width ?? scope.boxWidth, inner[child]?.height ?? BOX_HEIGHT];
        const [x, y] = [left + (placed.x[child] as number), top + (placed.y[child] as number)];
        const at =
          boxes.push({ box, x, y, width, height, isOpen: inner[child] !== undefined, scope: above }) - 1;
        const found = inner[child];
        if (found) place(found, x + PADDING, y + HEADER, at);
        return at;
      });
      const placeOf = (child: number): number => (child < 0 ? -1 : (places[child] as number));
      const aside = { isBack: false, route: [] };
      for (const { from, to, isBack, route } of [
        ...placed.lines,
        ...scope.aside.map((ends) => ({ ...ends, ...aside })),
      ]) {
        const sources = this.#sourcesOf(scope, from, to);
        const line = { from: placeOf(from), to: placeOf(to), scope: above, sources, isBack };
        edges.push({
          ...line,
          route: moved(
            route,
            left,
            top,
            above < 0 ? 0 : from < 0 ? -2 : 0,
            above >= 0 && to < 0 ? PADDING : 0,
          ),
        });
      }
    };
    place(whole, 0, 0, -1);
    return { boxes, edges, width: whole.placed.width, height: whole.placed.height };
  }

  /** An open box with all that is open in it, and the room that it needs. */
  #sized(box: Box, isOpen: (box: Box) => boolean): Sized {
    const scope = this.#scope(box);
    const inner = scope.children.map((child) =>
      this.boxes.opens(child) && isOpen(child) ? this.#sized(child, isOpen) : undefined,
    );
    const placed = placedScope(
      scope.plan,
      Float64Array.from(inner, (each) => each?.width ?? scope.boxWidth),
      Float64Array.from(inner, (each) => each?.height ?? BOX_HEIGHT),
    );
    const width = Math.max(
      placed.width + 2 * PADDING,
      scope.boxWidth,
      LETTER * (Math.min(box.label.length, MOST_LETTERS) + 4),
    );
    return { scope, placed, inner, width, height: placed.height + HEADER + PADDING };
  }

  #scope(box: Box): Scope {
    const known = this.#scopes.get(box);
    if (known) return known;
    const children = this.boxes.children(box);
    const longest = children.reduce(
      (most, { label, times }) => Math.max(most, label.length + (times > 1 ? 5 : 0)),
      0,
    );
    const boxWidth = Math.min(WIDEST, Math.max(NARROWEST, LETTER * longest + TWIST + PADDING));
    const { edges, takes, gives, sources, aside } = this.#edges(box, children);
    const part = box === this.boxes.whole ? 1 : INNER_ROOM;
    const room = {
      boxWidth,
      boxHeight: BOX_HEIGHT,
      width: part * this.room.width,
      height: part * this.room.height,
    };
    const graph = { count: children.length, edges, takes, gives };
    const found = { children, plan: planOf(graph, room), boxWidth, sources, aside };
    this.#scopes.set(box, found);
    return found;
  }

  /** The edges between the children of a box, and which of these take from outside or give to it. */
  #edges(above: Box, children: readonly Box[]) {
    const { boxes } = this;
    const { isAside, role } = boxes;
    const { inputs, inputPorts, outputShapes } = boxes.profile.nodes;
    const isForwardOnly = boxes.holdsLayers(above);
    const isDrawn = (node: number): boolean =>
      !isAside[node] && !(isForwardOnly && (role[node] === BACKWARD || role[node] === UPDATE));
    // Where outputs are known, what has none can only be waited for.
    const givesOut = (node: number): boolean =>
      outputShapes.values.length === 0 || outputShapes.start[node] !== outputShapes.start[node + 1];
    children.forEach(({ nodes }, child) => {
      for (const node of nodes) this.#childOf[node] = child;
    });
    const found = new Map<number, number[]>();
    const [from, to]: [number[], number[]] = [[], []];
    const [takes, gives] = [new Uint8Array(children.length), new Uint8Array(children.length)];
    const aside: { from: number; to: number }[] = [];
    const isInner = above !== boxes.whole;
    const consumers = isInner ? boxes.consumers : null;
    const note = (source: number, target: number, node: number, isControl = false): void => {
      const key = keyOf(source, target);
      const known = found.get(key);
      const given = known ?? [];
      if (!isControl) given.push(node);
      if (known) return;
      found.set(key, given);
      const isPass = (child: number): boolean => children[child]?.kind === "pass";
      if (isPass(source) !== isPass(target)) aside.push({ from: source, to: target });
      else if (source < 0) takes[target] = 1;
      else if (target < 0) gives[source] = 1;
      else {
        from.push(source);
        to.push(target);
      }
    };
    children.forEach(({ nodes }, child) => {
      for (const node of nodes) {
        if (!isDrawn(node)) continue;
        for (let at = inputs.start[node] as number; at < (inputs.start[node + 1] as number); at++) {
          const source = inputs.values[at] as number;
          if (source < 0 || !isDrawn(source) || !givesOut(source)) continue;
          const other = this.#childOf[source] as number;
          if (other !== child && (other >= 0 || isInner))
            note(other, child, source, (inputPorts[at] as number) < 0);
        }
        if (!consumers || !givesOut(node)) continue;
        for (let at = consumers.start[node] as number; at < (consumers.start[node + 1] as number); at++) {
          const target = consumers.values[at] as number;
          if ((this.#childOf[target] as number) < 0 && isDrawn(target)) note(child, -1, node);
        }
      }
    });
    for (const { nodes } of children) for (const node of nodes) this.#childOf[node] = -1;
    return {
      edges: { from: Int32Array.from(from), to: Int32Array.from(to) },
      takes,
      gives,
      sources: found,
      aside,
    };
  }

  #sourcesOf({ sources }: Scope, from: number, to: number): Int32Array {
    const key = keyOf(from, to);
    const found = sources.get(key) ?? [];
    // A tensor that several nodes of a box take goes there once.
    const once = found instanceof Int32Array ? found : Int32Array.from(new Set(found));
    sources.set(key, once);
    return once;
  }
}

// More than there are boxes in a scope.
const STRIDE = 100_000;

function keyOf(from: number, to: number): number {
  return (from + 1) * STRIDE + to + 1;
}

/** An open box, the places of the boxes in it, and those of them that are open. */
interface Sized {
  readonly scope: Scope;
  readonly placed: PlacedScope;
  readonly inner: readonly (Sized | undefined)[];
  readonly width: number;
  readonly height: number;
}

/** A route elsewhere; its ends reach a little farther up and down. */
function moved(route: Route, left: number, top: number, up: number, down: number): Route {
  return route.map(([step, ...at], place): Route[number] => {
    const further = place === 0 ? up : place === route.length - 1 ? down : 0;
    return [
      step,
      ...at.map((each, index) => each + (index % 2 ? top + (index === at.length - 1 ? further : 0) : left)),
    ];
  });
}

/** The sum of a column over the nodes of a box. */
export function sumOver(box: Box, column: Numbers): number {
  let sum = 0;
  for (const node of box.nodes) sum += column[node] as number;
  return sum;
}
