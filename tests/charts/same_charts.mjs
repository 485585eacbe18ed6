// Compares the charts of the menu with those of Python: `node same_charts.mjs DIRECTORY`.
//
// Each line of the directory's questions.jsonl names a file with the columns of a profile, what Python says of its graph,
// the options and what Python's charts are. For each chart a line of answers.jsonl has both specifications, as Vega has
// them: that which Vega-Lite makes of Python's, and that which the menu draws.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { compile } from "vega-lite";
import { compiledCharts } from "../../js/compiled_charts.mjs";

const PARTS = {
  "./analysis/chart_content.ts": "standing",
  "./export/pictures.ts": "CHARTS",
  "./charts.ts": "filled",
  "./data/graphs.ts": "graphsOf",
  "./data/options.ts": "withDefaults",
  "./data/protocol.ts": "OPTIONS",
  "./engine/evaluate.ts": "evaluate",
};
const specifications = JSON.parse(readFileSync("js/charts.json", "utf-8"));
const { outputFiles } = await build({
  stdin: {
    contents: [
      'import { extend } from "./engine/evaluate.ts"; import { EXTENSION } from "./engine/extension.ts"; extend(EXTENSION);',
      ...Object.entries(PARTS).map(([file, name]) => `export { ${name} } from "${file}";`),
    ].join("\n"),
    resolveDir: join(import.meta.dirname, "../../js/src"),
    loader: "ts",
  },
  bundle: true,
  define: { COMPILED_CHARTS: JSON.stringify(compiledCharts(specifications)) },
  format: "esm",
  platform: "node",
  write: false,
});
const directory = process.argv[2];
const bundle = join(directory, "bundle.mjs");
writeFileSync(bundle, outputFiles[0].contents);
const { standing, CHARTS, filled, graphsOf, withDefaults, OPTIONS, evaluate } = await import(bundle);

function answerTo({ columns, graph, view: kind, options, metric, name, about, width, span, theme, charts }) {
  const bytes = new Uint8Array(readFileSync(join(directory, columns)));
  const [shown] = graphsOf({ get: () => [{ ...graph, columns: bytes }] });
  const given = OPTIONS.filter((option) => option.name in options).map(({ name, key }) => [key, options[name]]);
  const view = evaluate(shown.profile, kind, withDefaults(Object.fromEntries(given)));
  const subject = { view, metric, graph: shown, name, about, width, span };
  return CHARTS.map((chart) => {
    const python = charts[chart.name] && compile(charts[chart.name]).spec;
    try {
      return { chart: chart.name, python, menu: filled(standing(chart.content(subject), subject), theme) };
    } catch (error) {
      return { chart: chart.name, python, lacking: error.message };
    }
  });
}

const questions = readFileSync(join(directory, "questions.jsonl"), "utf-8").trim().split("\n");
const answers = questions.map((line) => JSON.stringify(answerTo(JSON.parse(line))));
writeFileSync(join(directory, "answers.jsonl"), `${answers.join("\n")}\n`);
