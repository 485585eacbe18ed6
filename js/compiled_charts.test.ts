// The charts that were compiled when built draw what Vega-Lite draws at run time.

import { parse, View as WholeView } from "vega";
import { compile } from "vega-lite";
import { expect, test, vi } from "vitest";
import specifications from "./charts.json?raw";
import { compiledCharts } from "./compiled_charts.mjs";
import type { StandingChart } from "./src/analysis/chart_content.ts";
import { coloured, showIn, toSvg, viewOf } from "./src/charts.ts";

type Rows = Readonly<Record<string, readonly object[]>>;

const bar = (name: string, part: string, value: number, total: number, label: string) => ({
  ...{ name, shown: name, part, value, total, label, told: label, opacity: name === "Add" ? 0.3 : 1 },
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
  roofline: {
    dots: [
      { label: "dense", align: "right", intensity: 20, rate: 3e10, size: 99, bound: "compute", opacity: 1 },
      { label: "Add", align: "left", intensity: 0.2, rate: 2e9, size: 40, bound: "memory", opacity: 0.3 },
    ],
    frame: [
      { intensity: 0.1, rate: 1e9 },
      { intensity: 100, rate: 1e11 },
    ],
    roof: [
      { intensity: 0.1, rate: 1e9 },
      { intensity: 5, rate: 5e10 },
      { intensity: 100, rate: 5e10 },
    ],
    band: [
      { intensity: 0.1, rate: 1e9, usual: 1e9 },
      { intensity: 100, rate: 5e10, usual: 3e10 },
    ],
    bounds: [{ bound: "compute" }, { bound: "memory" }],
  },
};
const HEIGHT = 66;
const WIDTH = 420;
// Charts that are on no page, or need more there than alone.
const ALONE: Readonly<Record<string, Rows>> = {
  ...ROWS,
  memory: {
    memory: (ROWS.memory as Rows).memory as object[],
    peaks: [{ told: "GPU:0: peak 3 MB", seconds: 0.002, bytes: 3_000_000 }],
  },
  timeline: {
    lanes: [{ lane: "step" }, { lane: "CPU:0 · thread 0" }],
    slices: [
      { lane: "CPU:0 · thread 0", begin: 0, end: 0.4, category: "input", label: "a long name" },
      { lane: "CPU:0 · thread 0", begin: 0.5, end: 0.51, category: "other", label: "Mul" },
    ],
    steps: [{ lane: "step", begin: 0, end: 1, label: "step 7" }],
    categories: [{ category: "input" }, { category: "other" }],
  },
  workers: {
    workers: [
      { name: "GPU:0", part: "compute", seconds: 3, total: 4, told: "75 % of 4 s" },
      { name: "GPU:0", part: "idle", seconds: 1, total: 4, told: "" },
    ],
    parts: [{ part: "compute" }, { part: "idle" }],
  },
  advice: {
    title: [{ line: 0, text: "Layout", indent: 0 }],
    cause: [{ line: 1, text: "Transposes take long", indent: 7 }],
    fix: [{ line: 2, text: "Choose another layout", indent: 0 }],
  },
  drawing: {
    boxes: [
      { x: 0, x2: 120, y: 20, y2: 40, part: "forward" },
      { x: 120, x2: 300, y: 20, y2: 40, part: "backward" },
    ],
    bold: [{ x: 0, y: 0, text: "A step takes 3 ms" }],
    text: [],
    dim: [{ x: 0, y: 48, text: "a step" }],
    on: [{ x: 5, y: 25, text: "forward, 1 ms" }],
    right: [{ x: 400, y: 25, text: "3 ms" }],
    dim_right: [],
  },
};
const SIGNALS = {
  names: 90,
  letters: 12,
  factor: 1e-6,
  suffix: "s",
  begin: 0,
  end: 1,
  lines: 3,
  down: HEIGHT,
};

type Specification = Parameters<typeof compile>[0];
const specs = JSON.parse(specifications) as Record<"page" | "alone", Record<string, Specification>> & {
  readonly themes: typeof COMPILED_CHARTS.themes;
};
const compiled = compiledCharts(specs);
// What the build puts in.
vi.stubGlobal("COMPILED_CHARTS", compiled);
const colour = (name: string) => `#${name.length.toString(16).padStart(6, "0")}`;

async function drawnAtRunTime(name: string, rows: Rows): Promise<string> {
  const datasets = structuredClone(rows);
  const spec = coloured({ ...specs.page[name], datasets, height: HEIGHT }, colour) as Specification;
  const view = new WholeView(parse(compile(spec).spec), { renderer: "none" });
  return (await view.width(WIDTH).runAsync()).toSVG();
}

async function drawnAsCompiled(name: string, rows: Rows): Promise<string> {
  const view = viewOf(coloured(compiled.page[name] as object, colour));
  showIn(view.width(WIDTH), { data: rows, height: HEIGHT });
  await view.runAsync();
  return view.toSVG();
}

/** What Vega-Lite draws of a chart that stands alone, filled as tfprof_widget/charts/kinds.py fills it. */
async function standingAtRunTime(chart: StandingChart): Promise<string> {
  const {
    title,
    params = [],
    ...spec
  } = specs.alone[chart.spec] as Specification & {
    title: object;
    params?: readonly { readonly name: string }[];
  };
  const whole = {
    ...spec,
    title: { ...title, text: chart.title, subtitle: chart.subtitle },
    params: params.map(({ name }) => ({ name, value: SIGNALS[name as keyof typeof SIGNALS] })),
    datasets: structuredClone(chart.data),
    width: chart.width,
    height: chart.height,
  };
  const { light } = specs.themes;
  const filledIn = coloured(whole, (name) => light[name] as string) as unknown as Specification;
  const view = new WholeView(parse(compile(filledIn).spec), { renderer: "none" });
  return view.toSVG();
}

/** Vega counts the clips of all pictures that it draws. */
function numberedAnew(svg: string): string {
  const numbers = [...new Set(svg.match(/\bclip\d+/g))];
  return svg.replace(/\bclip\d+/g, (clip) => `clip-${numbers.indexOf(clip)}`);
}

test("every chart is tried", () => {
  expect(Object.keys(specs.page).sort()).toEqual(Object.keys(ROWS).sort());
  expect(Object.keys(specs.alone).sort()).toEqual(Object.keys(ALONE).sort());
});

test.each(Object.entries(ROWS))("%s is the same picture", async (name, rows) => {
  const svg = await drawnAsCompiled(name, rows);
  expect(svg).toContain("<path");
  expect(numberedAnew(svg)).toBe(numberedAnew(await drawnAtRunTime(name, rows)));
});

test.each(Object.entries(ALONE))("%s alone is the same picture", async (spec, data) => {
  const chart = { spec, data, height: HEIGHT, width: WIDTH, signals: SIGNALS, title: ["t"], subtitle: ["c"] };
  const svg = await toSvg(chart, "light");
  expect(svg).toContain("<text");
  expect(numberedAnew(svg)).toBe(numberedAnew(await standingAtRunTime(chart)));
});

test("a specification that needs another transform is refused", () => {
  const binned = { data: { name: "x" }, mark: "bar", encoding: { x: { field: "a", bin: true } } };
  expect(() => compiledCharts({ page: { binned }, alone: {}, themes: {} })).toThrow(
    "the chart binned needs transforms that js/src/charts.ts lacks: ",
  );
});
