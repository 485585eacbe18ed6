// The charts that were compiled when built draw what Vega-Lite draws at run time.

import { parse, View as WholeView } from "vega";
import { compile } from "vega-lite";
import { expect, test } from "vitest";
import specifications from "./charts.json?raw";
import { compiledCharts } from "./compiled_charts.mjs";
import { coloured, showIn, viewOf } from "./src/charts.ts";

type Rows = Readonly<Record<string, readonly object[]>>;

const bar = (name: string, part: string, value: number, total: number, label: string) => ({
  ...{ name, part, value, total, label, opacity: name === "Add" ? 0.3 : 1 },
  ...{ exact: `${value} µs`, share: "1 %", nodes: "2", runs: "3" },
});
const step = (number: number, kind: string) => ({
  ...{ step: String(number), seconds: number / 1000, kind, opacity: 1, span: "4 ms", work: "9 ms" },
});
const ROWS: Readonly<Record<string, Rows>> = {
  costs: {
    costs: [bar("Conv2D", "", 30, 30, "30 µs"), bar("Add", "", 4, 4, "4"), bar("Mul", "", 2, 2, "2")],
  },
  costs_by_processor: {
    costs: [
      bar("Conv2DBackpropFilterWithALongName", "CPU", 3, 5, "5 µs"),
      bar("Conv2DBackpropFilterWithALongName", "accelerator", 2, 5, ""),
      bar("Add", "CPU", 1, 1, "1"),
    ],
  },
  scopes: {
    scopes: [
      { label: "all · 5 µs", name: "all", x0: 0, x1: 1, depth: 0, category: 5, opacity: 1 },
      { label: "dense · 4 µs", name: "dense", x0: 0, x1: 0.8, depth: 1, category: 0, opacity: 0.3 },
      { label: "loss · 1 µs", name: "loss", x0: 0.98, x1: 1, depth: 1, category: 2, opacity: 1 },
    ],
  },
  steps: { steps: [step(7, ""), step(9, ""), step(8, "")] },
  steps_by_kind: { steps: [step(7, "training"), step(9, "evaluation"), step(8, "training")] },
  memory: {
    memory: [
      { device: "GPU:0", seconds: 0, until: 0.002, bytes: 0, when: "0", exact: "0 B" },
      { device: "GPU:0", seconds: 0.002, until: 0.003, bytes: 3_000_000, when: "2 ms", exact: "3 MB" },
      { device: "CPU:0", seconds: 0.001, until: 0.004, bytes: 1000, when: "1 ms", exact: "1 kB" },
    ],
    peaks: [{ device: "GPU:0", seconds: 0.002, bytes: 3_000_000, label: "peak 3 MB" }],
  },
};
const HEIGHT = 66;
const WIDTH = 420;

const specs = JSON.parse(specifications) as Record<string, Parameters<typeof compile>[0]>;
const colour = (name: string) => `#${name.length.toString(16).padStart(6, "0")}`;

async function drawnAtRunTime(name: string, rows: Rows): Promise<string> {
  const datasets = structuredClone(rows);
  const spec = coloured({ ...specs[name], datasets, height: HEIGHT }, colour) as Parameters<
    typeof compile
  >[0];
  const view = new WholeView(parse(compile(spec).spec), { renderer: "none" });
  return (await view.width(WIDTH).runAsync()).toSVG();
}

async function drawnAsCompiled(name: string, rows: Rows): Promise<string> {
  const view = viewOf(coloured(compiledCharts({ [name]: specs[name] })[name] as object, colour));
  showIn(view.width(WIDTH), { data: rows, height: HEIGHT });
  await view.runAsync();
  return view.toSVG();
}

/** Vega counts the clips of all pictures that it draws. */
function numberedAnew(svg: string): string {
  const numbers = [...new Set(svg.match(/\bclip\d+/g))];
  return svg.replace(/\bclip\d+/g, (clip) => `clip-${numbers.indexOf(clip)}`);
}

test("every chart is tried", () => {
  expect(Object.keys(specs).sort()).toEqual(Object.keys(ROWS).sort());
});

test.each(Object.entries(ROWS))("%s is the same picture", async (name, rows) => {
  const svg = await drawnAsCompiled(name, rows);
  expect(svg).toContain("<path");
  expect(numberedAnew(svg)).toBe(numberedAnew(await drawnAtRunTime(name, rows)));
});

test("a specification that needs another transform is refused", () => {
  const binned = { data: { name: "x" }, mark: "bar", encoding: { x: { field: "a", bin: true } } };
  expect(() => compiledCharts({ binned })).toThrow(
    "the chart binned needs transforms that js/src/charts.ts lacks: ",
  );
});
