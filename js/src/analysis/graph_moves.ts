// Where the arrow keys go in a picture of a graph: along the edges, and to the boxes beside.

import type { Scene, SceneBox } from "./graph_scene.ts";

export type Direction = "up" | "down" | "left" | "right";

/** The box that a key leads to from one; the same where there is none. */
export function neighbourOf(scene: Scene, at: number, direction: Direction): number {
  const here = scene.boxes[at];
  if (!here) return firstIn(scene, -1) ?? -1;
  if (direction === "down" && here.isOpen) return firstIn(scene, at) ?? at;
  if (direction === "left" || direction === "right") return beside(scene, at, direction) ?? at;
  const linked = scene.edges
    .filter((edge) => !edge.isBack && (direction === "down" ? edge.from : edge.to) === at)
    .map((edge) => (direction === "down" ? edge.to : edge.from))
    .filter((other) => other >= 0);
  if (linked.length) return nearest(scene, here, linked);
  if (direction === "up") return here.scope >= 0 ? here.scope : at;
  return at;
}

/** The first box in an open one. */
function firstIn({ boxes }: Scene, scope: number): number | undefined {
  const inside = boxes.flatMap((box, at) => (box.scope === scope ? [at] : []));
  return inside.sort((one, other) => {
    const [a, b] = [boxes[one] as SceneBox, boxes[other] as SceneBox];
    return a.x - b.x > a.width ? 1 : b.x - a.x > b.width ? -1 : a.y - b.y || a.x - b.x;
  })[0];
}

/** The nearest by their middles. */
function nearest({ boxes }: Scene, here: SceneBox, among: readonly number[]): number {
  const distance = (at: number): number => {
    const there = boxes[at] as SceneBox;
    return Math.abs(there.x + there.width / 2 - here.x - here.width / 2) + Math.abs(there.y - here.y) / 2;
  };
  return among.reduce((best, each) => (distance(each) < distance(best) ? each : best));
}

/** The next box of the same scope to a side; what stands at the same height comes first. */
function beside({ boxes }: Scene, at: number, direction: "left" | "right"): number | undefined {
  const here = boxes[at] as SceneBox;
  const sign = direction === "right" ? 1 : -1;
  const distance = (each: SceneBox): number => sign * (each.x - here.x) + 3 * Math.abs(each.y - here.y);
  let best: number | undefined;
  boxes.forEach((each, place) => {
    if (place === at || each.scope !== here.scope || sign * (each.x - here.x) < 1) return;
    if (best === undefined || distance(each) < distance(boxes[best] as SceneBox)) best = place;
  });
  return best;
}

/** The innermost box at a point, -1 for none. */
export function boxAt({ boxes }: Scene, x: number, y: number): number {
  let found = -1;
  boxes.forEach((each, at) => {
    if (x >= each.x && x <= each.x + each.width && y >= each.y && y <= each.y + each.height) found = at;
  });
  return found;
}
