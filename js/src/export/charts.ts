// The charts as pictures, on the colour that they stand on: their text would not be seen on just any other.

import { visibleLines } from "../lib/visible.ts";
import type { ChartView } from "../state/store.ts";

// Sharp on the screens that slides are shown on.
const SCALE = 2;
const MAIN = "costs";

/** How the charts are called, the main one first and always. */
export function chartNames(views: ReadonlyMap<string, unknown>): readonly { label: string; name: string }[] {
  const others = [...views.keys()].filter((name) => name !== MAIN);
  return [{ label: "Chart", name: MAIN }, ...others.map((name) => ({ label: `Chart of ${name}`, name }))];
}

/** A chart as SVG. */
export async function svg(view: ChartView, surface: string): Promise<Blob> {
  const text = await standing(view, surface, () => view.toSVG());
  // Controls are no XML, even as numbers.
  return new Blob([visibleLines(text)], { type: "image/svg+xml" });
}

/** A chart as PNG. */
export async function picture(view: ChartView, surface: string): Promise<Blob> {
  const address = await standing(view, surface, () => view.toImageURL("png", SCALE));
  // The picture is in the address itself; a saved page may not fetch even that.
  const encoded = atob(address.slice(address.indexOf(",") + 1));
  return new Blob([Uint8Array.from(encoded, (character) => character.charCodeAt(0))], { type: "image/png" });
}

async function standing<Made>(view: ChartView, surface: string, make: () => Promise<Made>): Promise<Made> {
  const usual = view.background();
  view.background(surface);
  try {
    return await make();
  } finally {
    view.background(usual);
  }
}
