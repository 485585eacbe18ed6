// Keeps a canvas painted: at most once a frame, whenever the state, the size, the scroll position or the theme changes.

import { effect } from "@preact/signals";
import { type CanvasSize, Painter } from "../views/timeline/paint.ts";
import type { TimelineState } from "../views/timeline/state.ts";
import { type Palette, paletteOf } from "./canvas.ts";

const WIDE_GUTTER = 92;
const NARROW_GUTTER = 64;
const NARROW = 640;

/** How large what is seen of the lanes is now. */
export function canvasSizeOf(scroller: HTMLElement): CanvasSize {
  const { clientWidth: width, clientHeight: height, scrollTop: scrolled } = scroller;
  const ratio = scroller.ownerDocument.defaultView?.devicePixelRatio ?? 1;
  return { width, height, ratio, scrolled, gutter: width < NARROW ? NARROW_GUTTER : WIDE_GUTTER };
}

/** Run `paint` once before the next frame, however often it is asked for; `cancel` ends this. */
export function oncePerFrame(paint: () => void): { readonly ask: () => void; readonly cancel: () => void } {
  let asked = 0;
  const ask = (): void => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      paint();
    });
  };
  return { ask, cancel: () => cancelAnimationFrame(asked) };
}

/** Fit the canvas to a size in CSS pixels; setting it clears it, so only when it is another one. */
export function resize(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width === across && canvas.height === down) return;
  canvas.width = across;
  canvas.height = down;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

/** Call `change` when an element's size or the widget's theme changes; returns what ends this. */
export function onAppearance(element: HTMLElement, change: () => void): () => void {
  const sizes = new ResizeObserver(change);
  sizes.observe(element);
  const themes = new MutationObserver(change);
  const root = element.getRootNode();
  themes.observe(root instanceof ShadowRoot ? root.host : element.ownerDocument.documentElement, {
    attributeFilter: ["data-theme"],
  });
  return () => {
    sizes.disconnect();
    themes.disconnect();
  };
}

/** Keep the timeline painted; returns what ends this. */
export function paintOnChange(
  state: TimelineState,
  scroller: HTMLElement,
  canvas: HTMLCanvasElement,
): () => void {
  const context = canvas.getContext("2d", { alpha: false });
  if (!context) return () => {};
  const painter = new Painter(context);
  let palette: Palette | null = null;
  const painting = oncePerFrame(() => {
    const frame = canvasSizeOf(scroller);
    if (!frame.width || !frame.height) return;
    resize(canvas, frame.width, frame.height, frame.ratio);
    palette ??= paletteOf(canvas);
    painter.paint(state, frame, palette);
  });
  const unfollow = onAppearance(scroller, () => {
    palette = null;
    painting.ask();
  });
  scroller.addEventListener("scroll", painting.ask, { passive: true });
  const end = effect(() => {
    for (const each of [
      state.seen,
      state.painted,
      state.rows,
      state.uses,
      state.hovered,
      state.current,
      state.range,
    ])
      void each.value;
    painting.ask();
  });
  return () => {
    end();
    unfollow();
    scroller.removeEventListener("scroll", painting.ask);
    painting.cancel();
  };
}
