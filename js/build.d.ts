// What the build puts in, and the types of packages that have none of their own.

/** The specifications of tfprof_widget/charts/ by name, compiled to Vega by js/compiled_charts.mjs, and their themes. */
declare const COMPILED_CHARTS: {
  readonly page: Readonly<Record<string, object>>;
  readonly alone: Readonly<Record<string, object>>;
  readonly themes: Readonly<Record<"light" | "dark", Readonly<Record<string, string>>>>;
};
/** Tells this version of the sources from all others. */
declare const SOURCES_HASH: string;

// A style sheet is bundled as its text.
declare module "*.css" {
  const text: string;
  export default text;
}

declare module "vega-view" {
  export { View } from "vega-typings";
}
declare module "vega-parser" {
  import type { Runtime } from "vega-typings";
  export function parse(spec: object, config: object, options: { readonly ast: boolean }): Runtime;
}
declare module "vega-interpreter" {
  export const expressionInterpreter: object;
}
declare module "vega-dataflow" {
  export const transforms: Record<string, unknown>;
}
declare module "vega-encode" {
  export const axisticks: unknown, datajoin: unknown, encode: unknown, legendentries: unknown;
  export const scale: unknown, sortitems: unknown, stack: unknown;
}
declare module "vega-transforms" {
  export const aggregate: unknown, collect: unknown, extent: unknown, facet: unknown, filter: unknown;
  export const formula: unknown, multiextent: unknown, prefacet: unknown, proxy: unknown, relay: unknown;
  export const sieve: unknown, values: unknown;
}
declare module "vega-view-transforms" {
  export const bound: unknown, mark: unknown, overlap: unknown, render: unknown, viewlayout: unknown;
}
