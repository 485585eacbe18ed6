// Bundles every module of js/src for the browser, so that one which needs Node, or does not resolve, fails the tests.

import { readdirSync } from "node:fs";
import { build } from "esbuild";

const files = readdirSync("js/src", { recursive: true }).filter((path) => /(?<!\.test)\.ts$/.test(path));
await build({
  entryPoints: files.map((path) => `js/src/${path}`),
  bundle: true,
  format: "esm",
  outdir: "js",
  target: "es2022",
  write: false,
});
