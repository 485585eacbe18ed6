// Writes down the packages whose code is in the bundles, each with its version and licence.

import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";

// Dependencies of bundled packages of whose code nothing is bundled: types, and what their commands need.
const NOT_BUNDLED = new Set(["@types/estree", "commander", "iconv-lite", "rw"]);

const FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const COMMENTS = /^[ \t]*\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+/gm;
const OTHERS_RIGHTS = /copyright|licen[cs]e|\(c\)/i;

/** The text of the notices for bundled modules, given by their paths. */
export function notices(modules) {
  const packages = new Map();
  for (const path of modules.filter((each) => FOLDER.test(each))) {
    const [folder] = path.match(FOLDER);
    packages.set(folder, [...(packages.get(folder) ?? []), path]);
  }
  for (const folder of packages.keys()) checkDependencies(folder, packages);
  const sections = [...packages].map(([folder, files]) => section(folder, files));
  const opening =
    "What runs in the browser contains code of these packages, under the licences given with each.\n";
  return [opening, ...new Set(sections.sort())].join(`\n${"-".repeat(100)}\n\n`);
}

/** A package may come with others built in, which no import tells: then somebody has to look. */
function checkDependencies(folder, packages) {
  const undecided = Object.keys(description(folder).dependencies ?? {})
    .filter((name) => ![...packages.keys()].some((each) => each.endsWith(`node_modules/${name}`)))
    .filter((name) => !NOT_BUNDLED.has(name));
  if (undecided.length) {
    throw new Error(`is their code within ${folder}? Say so in js/notices.mjs: ${undecided}`);
  }
}

function section(folder, files) {
  const { name, version, license } = description(folder);
  const texts = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file));
  if (!license || !texts.length) {
    throw new Error(`${folder} says not under which licence it comes`);
  }
  const whole = texts.map((file) => readFileSync(`${folder}/${file}`, "utf8").trim());
  const within = files.flatMap((file) =>
    rights(file).map((comment) => `In ${basename(dirname(file))}/${basename(file)}:\n\n${comment}`),
  );
  return `${[`${name} ${version} (${license})`, ...whole, ...new Set(within)].join("\n\n")}\n`;
}

/** What a file's comments say of the rights of others. */
function rights(file) {
  const comments = readFileSync(file, "utf8").match(COMMENTS) ?? [];
  return comments.filter((comment) => OTHERS_RIGHTS.test(comment)).map((comment) => comment.trim());
}

function description(folder) {
  return JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
}
