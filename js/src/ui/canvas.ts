// What every canvas needs: the theme's colours, the hatching of transfers, its size in device pixels, one painting a frame.

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { CATEGORY_COLOURS } from "../analysis/op_categories.ts";
import { PARTS } from "../analysis/spans.ts";
import { inLightTheme } from "../lib/tokens.ts";

/** Colours as CSS writes them. */
export interface Palette {
  readonly text: string;
  readonly dim: string;
  readonly surface: string;
  readonly line: string;
  readonly groove: string;
  readonly accent: string;
  readonly warning: string;
  readonly ink: string;
  readonly transfer: string;
  readonly categories: readonly string[];
  /** Of what cells and steps are made of, and of names on these. */
  readonly parts: readonly string[];
  readonly onPart: string;
  readonly onRest: string;
  readonly font: string;
}

/** The palette that holds for an element. */
export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  return {
    text: colour("--text"),
    dim: colour("--dim"),
    surface: colour("--surface"),
    line: colour("--line"),
    groove: colour("--groove"),
    accent: colour("--accent"),
    warning: colour("--warning"),
    ink: colour("--ink"),
    transfer: colour("--transfer"),
    categories: CATEGORY_COLOURS.map(colour),
    parts: PARTS.map((part) => colour(`--${part}`)),
    onPart: colour("--on-part"),
    onRest: colour("--on-rest"),
    font: style.fontFamily,
  };
}

const WIDTH = 7;
const patterns = new WeakMap<Palette, CanvasPattern>();

/** The pattern in a palette's colours; plain where a canvas has none. */
export function transferPattern(context: CanvasRenderingContext2D, palette: Palette): CanvasPattern | string {
  const pattern = patterns.get(palette) ?? drawn(context, palette);
  if (pattern) patterns.set(palette, pattern);
  return pattern ?? palette.transfer;
}

function drawn(context: CanvasRenderingContext2D, palette: Palette): CanvasPattern | null {
  const tile = context.canvas.ownerDocument.createElement("canvas");
  tile.width = tile.height = WIDTH;
  const stroke = tile.getContext("2d");
  if (!stroke) return null;
  stroke.fillStyle = palette.surface;
  stroke.fillRect(0, 0, WIDTH, WIDTH);
  stroke.globalAlpha = 0.25;
  stroke.fillStyle = palette.transfer;
  stroke.fillRect(0, 0, WIDTH, WIDTH);
  stroke.globalAlpha = 0.6;
  stroke.strokeStyle = palette.transfer;
  stroke.lineWidth = 1.2;
  for (const shift of [-WIDTH, 0, WIDTH]) {
    stroke.moveTo(shift - 1, WIDTH + 1);
    stroke.lineTo(shift + WIDTH + 1, -1);
  }
  stroke.stroke();
  return context.createPattern(tile, "repeat");
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

/** Call `begin` right before the page is printed, and `end` after it; returns what ends this. */
export function onPrint(begin: () => void, end: () => void): () => void {
  addEventListener("beforeprint", begin);
  addEventListener("afterprint", end);
  return () => {
    removeEventListener("beforeprint", begin);
    removeEventListener("afterprint", end);
  };
}

/** The palette of the light theme, which is that of paper. */
export function lightPaletteOf(element: Element): Palette {
  return inLightTheme(element, () => paletteOf(element));
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

/** "light" or "dark", kept up to date; empty until the element is on the page, which `isThere` tells. */
export function useTheme(place: RefObject<HTMLElement | null>, isThere: boolean): string {
  const [theme, setTheme] = useState("");
  useEffect(() => {
    const root = place.current?.getRootNode();
    if (!(root instanceof ShadowRoot)) return;
    const host = root.host as HTMLElement;
    const update = () => setTheme(host.dataset.theme ?? "light");
    const observer = new MutationObserver(update);
    observer.observe(host, { attributeFilter: ["data-theme"] });
    update();
    return () => observer.disconnect();
  }, [place, isThere]);
  return theme;
}
