// Gives a chart's specification the colours of the theme around it.

import type { VisualizationSpec } from "vega-embed";

const COLOUR = /^var\((--[\w-]+)\)$/;

/** The specification with `var(--name)` replaced by what the custom property is at this element. */
export function themed(spec: VisualizationSpec, element: Element): VisualizationSpec {
  const style = getComputedStyle(element);
  return coloured(spec, (name) => style.getPropertyValue(name).trim()) as VisualizationSpec;
}

/** The same structure, its colours looked up by name. */
export function coloured(value: unknown, colourOf: (name: string) => string): unknown {
  if (typeof value === "string") {
    const name = COLOUR.exec(value)?.[1];
    return name ? colourOf(name) : value;
  }
  if (Array.isArray(value)) return value.map((each) => coloured(each, colourOf));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, coloured(each, colourOf)]));
}
