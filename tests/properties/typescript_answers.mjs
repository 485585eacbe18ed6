// Answers questions about profiles with the browser's engine: `node typescript_answers.mjs DIRECTORY`.
//
// Each line of the directory's questions.jsonl names a file with the columns of a profile, a view and options by their
// Python names; a line of answers.jsonl has the view's rows and the chart of its costs, or why there are none.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browserCode } from "../browser_code.mjs";

const { blamed, hiding, leftOut, decode, OPTIONS, costRows, costsOf, evaluate, layerTypes, MEASURES, withDefaults } =
  await browserCode(
    {
      "data/wire.ts": "decode",
      "data/protocol.ts": "OPTIONS",
      "analysis/costs.ts": "costRows, costsOf",
      "analysis/emptiness.ts": "blamed, hiding, leftOut",
      "engine/evaluate.ts": "evaluate",
      "engine/layers.ts": "layerTypes",
      "engine/measures.ts": "MEASURES",
      "data/options.ts": "withDefaults",
    },
    'import { extend } from "./engine/evaluate.ts"; import { EXTENSION } from "./engine/extension.ts"; extend(EXTENSION);',
  );
const PASSES = ["forward_micros", "backward_micros", "update_micros"];

const directory = process.argv[2];
const profiles = new Map();

function profileOf(file) {
  if (!profiles.has(file)) profiles.set(file, decode(new Uint8Array(readFileSync(join(directory, file)))));
  return profiles.get(file);
}

function answerTo({ columns, view: kind, options, metrics }) {
  const given = OPTIONS.filter(({ name }) => name in options).map(({ name, key }) => [key, options[name]]);
  const view = evaluate(profileOf(columns), kind, withDefaults(Object.fromEntries(given)));
  const byMeasure = (of) => Object.fromEntries(MEASURES.map((measure) => [measure, of(measure)]));
  return {
    names: Array.from({ length: view.rows }, (_, row) => view.name(row)),
    parent: Array.from(view.parent),
    depth: Array.from(view.depth),
    accounted: Array.from(view.accounted, Boolean),
    members: Array.from({ length: view.rows }, (_, row) => Array.from(view.membersOf(row))),
    blamed: view.kept > 0 ? null : Object.values(blamed(view)),
    left_out: byMeasure((measure) => leftOut(view, measure)),
    hiding: hiding(view),
    definitions: Array.from(view.definitions),
    hidden: Array.from(view.hidden),
    own: byMeasure((measure) => Array.from(view.own(measure))),
    total: byMeasure((measure) => Array.from(view.total(measure))),
    grand_total: byMeasure((measure) => view.grandTotal(measure)),
    unit: byMeasure((measure) => view.unit(measure)),
    passes: Object.fromEntries(
      (kind === "layers" ? PASSES : []).map((pass) => [pass, Array.from(view.own(pass))]),
    ),
    types: kind === "layers" ? layerTypes(view) : [],
    costs: Object.fromEntries(metrics.map((metric) => [metric, costRows(costsOf(view), metric).map(withoutOp)])),
  };
}

/** A row as Python has it, which selects nothing. */
function withoutOp({ op, ...row }) {
  return row;
}

function answered(question) {
  try {
    return answerTo(question);
  } catch (error) {
    return { refused: String(error.message) };
  }
}

const questions = readFileSync(join(directory, "questions.jsonl"), "utf-8").trim().split("\n");
const answers = questions.map((line) => JSON.stringify(answered(JSON.parse(line))));
writeFileSync(join(directory, "answers.jsonl"), `${answers.join("\n")}\n`);
