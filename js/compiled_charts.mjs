// Compiles the charts' specifications from Vega-Lite to Vega when the bundles are built, so that no browser has to.

import { compile } from "vega-lite";
import { parse } from "vega-parser";

// What js/src/charts.ts registers.
const TRANSFORMS = new Set([
  ..."aggregate collect extent facet filter formula multiextent prefacet proxy relay sieve values".split(" "),
  ..."axisticks datajoin encode legendentries scale sortitems stack".split(" "),
  ..."bound mark overlap render viewlayout".split(" "),
]);
// Operators of Vega's dataflow itself.
const OPERATORS = new Set(["operator"]);

/** The specifications of pages and of pictures by name, compiled, and the themes of pictures. */
export function compiledCharts({ page, alone, themes }) {
  return { page: compiled(page), alone: compiled(alone), themes };
}

/** Specifications by name, compiled; a transform that the chart library leaves out is an error. */
function compiled(specifications) {
  const charts = Object.entries(specifications).map(([name, spec]) => {
    const { spec: vega } = compile(spec);
    const missing = transformsOf(vega).filter((each) => !TRANSFORMS.has(each) && !OPERATORS.has(each));
    if (missing.length)
      throw new Error(`the chart ${name} needs transforms that js/src/charts.ts lacks: ${missing}`);
    return [name, vega];
  });
  return Object.fromEntries(charts);
}

/** The transforms that a compiled specification comes to, those of its marks, axes and legends among them. */
function transformsOf(compiled) {
  const found = new Set();
  const look = (value) => {
    if (Array.isArray(value)) value.forEach(look);
    else if (value && typeof value === "object") {
      if (Array.isArray(value.operators)) for (const { type } of value.operators) found.add(type);
      Object.values(value).forEach(look);
    }
  };
  look(parse(compiled, {}, { ast: true }));
  return [...found];
}
