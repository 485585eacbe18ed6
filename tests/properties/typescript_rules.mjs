// Answers by the browser's rules: `node typescript_rules.mjs QUESTIONS ANSWERS`, two files of JSON.
//
// The questions are, by the name of a rule, the arguments of each call; the answers, by the same names, what each gave.
// A rule that is no function is its own answer.

import { readFileSync, writeFileSync } from "node:fs";
import { browserCode } from "../browser_code.mjs";

const rules = await browserCode({
  "lib/format.ts": "share, shortTime, visible",
  "analysis/frames.ts": "libraryOf",
  "analysis/devices.ts": "deviceLabel, workersAmong",
  "analysis/emptiness.ts": "KEEP_ALL_ROWS",
});

const [questions, answers] = process.argv.slice(2);
const asked = JSON.parse(readFileSync(questions, "utf-8"));
const answer = (rule, call) => (typeof rule === "function" ? rule(...call) : rule);
const given = Object.entries(asked).map(([name, calls]) => [name, calls.map((call) => answer(rules[name], call))]);
writeFileSync(answers, JSON.stringify(Object.fromEntries(given)));
