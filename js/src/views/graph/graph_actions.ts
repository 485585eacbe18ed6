// What keys, pointer and wheel do on the picture of the graph, and what of it is in sight.

import { batch } from "@preact/signals";
import { boxAt, type Direction, neighbourOf } from "../../analysis/graph_moves.ts";
import type { SceneBox } from "../../analysis/graph_scene.ts";
import type { Camera, GraphPicture } from "../../state/graph_picture.ts";

const MARGIN = 16;
const SMALLEST = 0.12;
// Below this names cannot be read: what does not fit then is moved to.
const READABLE = 0.62;
const LARGEST = 4;
const FITTED = 1.15;
const ZOOM = 1.25;
const WHEEL = 0.0015;
const LINE = 16;
/** From how many pixels on a press is a drag. */
const STILL = 4;
/** The part of a box at its left, which opens it. */
const TWIST = 20;
const TITLE = 26;

/** How large the sheet is. */
export interface SheetSize {
  readonly width: number;
  readonly height: number;
}

/** All of the picture in sight, if its names can be read then; else its beginning. */
export function fittedCamera(state: GraphPicture, { width, height }: SheetSize): Camera {
  const { width: across, height: down } = state.scene.peek();
  const whole = Math.min((width - 2 * MARGIN) / across, (height - 2 * MARGIN) / down, FITTED);
  const scale = Math.max(whole, Math.min(READABLE, FITTED));
  const [left, top] = [width / scale - across, height / scale - down];
  return {
    x: left >= 0 ? -left / 2 : -MARGIN / scale,
    y: top >= 0 ? -Math.min(top / 2, MARGIN / scale) : -MARGIN / scale,
    scale,
  };
}

/** Zoom around the middle. */
export function zoomPicture(state: GraphPicture, size: SheetSize, factor: number): void {
  zoomAt(state, size, factor, size.width / 2, size.height / 2);
}

function zoomAt(state: GraphPicture, size: SheetSize, factor: number, x: number, y: number): void {
  const camera = state.camera.peek() ?? fittedCamera(state, size);
  const scale = Math.min(Math.max(camera.scale * factor, SMALLEST), LARGEST);
  const [under, beneath] = [camera.x + x / camera.scale, camera.y + y / camera.scale];
  state.camera.value = { x: under - x / scale, y: beneath - y / scale, scale };
}

/** All of it. */
export function showWholePicture(state: GraphPicture): void {
  state.camera.value = null;
}

/** Move what is in sight so that a box is in it; what is larger than the sheet is drawn smaller. */
export function bringIntoSight(state: GraphPicture, size: SheetSize, at: number): void {
  const box = state.scene.peek().boxes[at];
  const camera = state.camera.peek();
  if (!box || !camera) return;
  const room = Math.min((size.width - 2 * MARGIN) / box.width, (size.height - 2 * MARGIN) / box.height);
  const scale = Math.min(camera.scale, Math.max(room, READABLE));
  const margin = MARGIN / scale;
  const [across, down] = [size.width / scale, size.height / scale];
  const fixed = (start: number, from: number, length: number, seen: number): number =>
    from - margin < start || length + 2 * margin > seen
      ? from - margin
      : Math.max(start, from + length + margin - seen);
  const kept = scaledTo(camera, scale, box);
  state.camera.value = {
    x: fixed(kept.x, box.x, box.width, across),
    y: fixed(kept.y, box.y, box.height, down),
    scale,
  };
}

/** Another scale, with the upper left of a box where it is. */
function scaledTo(camera: Camera, scale: number, { x, y }: SceneBox): Camera {
  const by = camera.scale / scale;
  return { x: x - (x - camera.x) * by, y: y - (y - camera.y) * by, scale };
}

/** Open or close a box, and have it in sight. */
function toggleBox(state: GraphPicture, size: SheetSize, at: number): void {
  const key = state.scene.peek().boxes[at]?.box.key ?? "";
  batch(() => {
    state.camera.value ??= fittedCamera(state, size);
    state.toggle(at);
    bringIntoSight(state, size, state.placeOf(key));
  });
}

/** Go to the next box that holds what is searched for. */
export function findInPicture(state: GraphPicture, size: SheetSize, by: 1 | -1): void {
  batch(() => {
    state.camera.value ??= fittedCamera(state, size);
    state.find(by);
    bringIntoSight(state, size, state.cursor.value);
  });
}

const DIRECTIONS: Readonly<Record<string, Direction>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};

/** Do what a key asks for; returns whether it asks for anything. */
export function onGraphKey(state: GraphPicture, size: SheetSize, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const direction = DIRECTIONS[event.key];
  const at = state.cursor.peek();
  if (direction) {
    goToBox(state, size, neighbourOf(state.scene.peek(), at, direction));
    return true;
  }
  const { boxes } = state.scene.peek();
  if (event.key === "Enter") toggleBox(state, size, at);
  else if (event.key === " ") state.select(at);
  else if (event.key === "Home") goToBox(state, size, neighbourOf(state.scene.peek(), -1, "down"));
  else if (event.key === "End") goToBox(state, size, boxes.length - 1);
  else if (event.key === "+" || event.key === "=") zoomPicture(state, size, ZOOM);
  else if (event.key === "-") zoomPicture(state, size, 1 / ZOOM);
  else if (event.key === "f" || event.key === "0") showWholePicture(state);
  else if (event.key === "n" || event.key === "N") findInPicture(state, size, event.key === "n" ? 1 : -1);
  else if (event.key === "Escape") leave(state, size);
  else return false;
  return true;
}

/** Out of the selection, then out of the box that the cursor is in. */
function leave(state: GraphPicture, size: SheetSize): void {
  const { scope = -1 } = state.scene.peek().boxes[state.cursor.peek()] ?? {};
  if (state.store.selection.peek().length) state.store.selection.value = [];
  else if (scope >= 0) goToBox(state, size, scope);
  else state.cursorKey.value = "";
}

/** Let the keys be at a box, and have it in sight. */
export function goToBox(state: GraphPicture, size: SheetSize, at: number): void {
  const found = state.scene.peek().boxes[at];
  if (!found) return;
  batch(() => {
    state.cursorKey.value = found.box.key;
    state.camera.value ??= fittedCamera(state, size);
    if (!found.isOpen) bringIntoSight(state, size, at);
  });
}

/** Let pointer and wheel act on the picture; returns what ends this. */
export function followGraphPointer(state: GraphPicture, sheet: HTMLElement): () => void {
  let press: { readonly x: number; readonly y: number; readonly camera: Camera; moved: boolean } | null =
    null;
  const size = (): SheetSize => ({ width: sheet.clientWidth, height: sheet.clientHeight });
  const camera = (): Camera => state.camera.peek() ?? fittedCamera(state, size());
  const positionOf = (event: MouseEvent) => {
    const box = sheet.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const { x, y, scale } = camera();
    return { left, top, x: x + left / scale, y: y + top / scale };
  };
  const hover = (at: number): void => {
    state.hoveredKey.value = state.scene.peek().boxes[at]?.box.key ?? "";
    sheet.style.cursor = at < 0 ? "grab" : "pointer";
  };
  const listeners: { [Type in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Type]) => void } = {
    pointerdown: (event) => {
      if (event.button !== 0) return;
      sheet.setPointerCapture(event.pointerId);
      const { left, top } = positionOf(event);
      press = { x: left, y: top, camera: camera(), moved: false };
    },
    pointermove: (event) => {
      const { left, top, x, y } = positionOf(event);
      if (!press) {
        hover(boxAt(state.scene.peek(), x, y));
        return;
      }
      if (!press.moved && Math.hypot(left - press.x, top - press.y) < STILL) return;
      press.moved = true;
      const { scale } = press.camera;
      const [across, down] = [(press.x - left) / scale, (press.y - top) / scale];
      state.camera.value = { x: press.camera.x + across, y: press.camera.y + down, scale };
    },
    pointerup: (event) => {
      const released = press;
      press = null;
      if (!released || released.moved) return;
      const { x, y } = positionOf(event);
      const at = boxAt(state.scene.peek(), x, y);
      const box = state.scene.peek().boxes[at];
      if (!box) return;
      const isTwist = x < box.x + TWIST && (!box.isOpen || y < box.y + TITLE);
      if (isTwist && state.boxes.peek().opens(box.box)) toggleBox(state, size(), at);
      else state.select(at);
    },
    pointercancel: () => {
      press = null;
    },
    pointerleave: () => hover(-1),
    dblclick: (event) => {
      const { x, y } = positionOf(event);
      const at = boxAt(state.scene.peek(), x, y);
      const box = state.scene.peek().boxes[at];
      if (box && x >= box.x + TWIST) toggleBox(state, size(), at);
    },
    wheel: (event) => {
      const isFocused = (sheet.getRootNode() as Document | ShadowRoot).activeElement === sheet;
      if (!event.ctrlKey && !event.metaKey && !isFocused) return;
      const { left, top } = positionOf(event);
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : LINE;
      zoomAt(state, size(), Math.exp(-event.deltaY * unit * WHEEL), left, top);
      event.preventDefault();
    },
  };
  for (const [type, listener] of Object.entries(listeners)) {
    sheet.addEventListener(type, listener as EventListener, { passive: false });
  }
  return () => {
    for (const [type, listener] of Object.entries(listeners)) {
      sheet.removeEventListener(type, listener as EventListener);
    }
  };
}
