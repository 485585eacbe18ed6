// The colours of the theme in force, for a canvas cannot read custom properties itself.

import { CATEGORIES } from "../analysis/op_categories.ts";

/** Colours as CSS writes them. */
export interface Palette {
  readonly text: string;
  readonly dim: string;
  readonly surface: string;
  readonly panel: string;
  readonly line: string;
  readonly groove: string;
  readonly accent: string;
  readonly ink: string;
  readonly transfer: string;
  readonly categories: readonly string[];
  readonly font: string;
}

/** The palette that holds for an element. */
export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    text: colour("text"),
    dim: colour("dim"),
    surface: colour("surface"),
    panel: colour("panel"),
    line: colour("line"),
    groove: colour("groove"),
    accent: colour("accent"),
    ink: colour("ink"),
    transfer: colour("transfer"),
    categories: CATEGORIES.map((_, index) => colour(`category-${index + 1}`)),
    font: style.fontFamily,
  };
}
