// Bundles what the browser gets into tfprof_widget/static: the widget, its panels, those that a notebook has once, the chart
// library, the opener of saved results, and the notices of those whose code is in them.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { transform } from "esbuild";
import { compiledCharts } from "./compiled_charts.mjs";
import { notices } from "./notices.mjs";
import { bundled, bundledTogether } from "./shared.mjs";

const sources = "js/src";
// A test has it built elsewhere, to compare, and with --readable as it was written, to follow what is called.
const destination = process.argv[2] ?? "tfprof_widget/static";
const isReadable = process.argv[3] === "--readable";
// Every result in a notebook pays for the widget and its panels, and one of them for the others.
const MOST_BYTES = { widget: 90_000, panels: 260_000, carried: 80_000, charts: 500_000 };

const minifiedStyles = {
  name: "minified styles",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};

/** Tells the sources from all others: widgets of one version share their code on a page. */
function sourcesHash() {
  const hash = createHash("sha256");
  const modules = readdirSync(sources, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(tsx?|css)$/.test(path) && !path.includes(".test."))
    .map((path) => join(sources, path));
  for (const path of [...modules, "js/charts.json", "package-lock.json"].sort())
    hash.update(readFileSync(path));
  return hash.digest("hex").slice(0, 16);
}

const options = {
  define: { SOURCES_HASH: JSON.stringify(sourcesHash()) },
  format: "esm",
  inject: ["js/jsx.mjs"],
  minify: !isReadable,
  jsx: "transform",
  jsxFactory: "h",
  jsxFragment: "Fragment",
  // tsconfig.json would have JSX written out longer, and fields that a constructor fills be declared as well.
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
  plugins: [minifiedStyles],
};
const specifications = JSON.parse(readFileSync("js/charts.json", "utf8"));

const [widget, panels, carried] = await bundledTogether(["widget.ts", "panels.ts", "carried.ts"], options);
// These two draw nothing with Preact, and what is injected would stay in.
const alone = { ...options, inject: [] };
const charts = await bundled(
  { ...alone, define: { COMPILED_CHARTS: JSON.stringify(compiledCharts(specifications)) } },
  { entryPoints: [`${sources}/charts.ts`] },
);
const opener = await bundled(alone, { entryPoints: [`${sources}/opener.ts`], format: "iife" });

const paths = [widget, panels, carried].flatMap((bundle) => [...bundle.modules.keys()]);
const twice = paths.filter((path, index) => paths.indexOf(path) < index);
if (twice.length) {
  throw new Error(`in two bundles, so that state would be kept twice: ${twice}`);
}
for (const [name, { contents, modules }] of Object.entries({ widget, panels, carried, charts })) {
  if (isReadable || contents.length <= MOST_BYTES[name]) continue;
  const largest = [...modules].sort(([, one], [, other]) => other - one).map((each) => each.join(" "));
  throw new Error(
    `${name} has ${contents.length} bytes, more than ${MOST_BYTES[name]}:\n${largest.join("\n")}`,
  );
}
if ([...carried.modules.keys()].some((path) => path.includes("node_modules/"))) {
  throw new Error("the bundle that a notebook carries once has code of a package, and no licences with it");
}
const modules = (...bundles) => bundles.flatMap((bundle) => [...bundle.modules.keys()]);
/** A bundle with the licences of the packages in it, which go wherever their code goes. */
const packed = ({ contents }, licences) =>
  gzipSync(Buffer.concat([contents, Buffer.from(licences.replace(/^/gm, "// "))]), { level: 9 });

mkdirSync(destination, { recursive: true });
writeFileSync(
  `${destination}/THIRD_PARTY_NOTICES.txt`,
  notices(modules(widget, panels, carried, charts, opener)),
);
// What Python draws charts with, by the same specifications.
copyFileSync("js/charts.json", `${destination}/charts.json`);
writeFileSync(`${destination}/widget.js`, widget.contents);
writeFileSync(`${destination}/panels.js.gz`, packed(panels, notices(modules(widget, panels, opener))));
writeFileSync(`${destination}/carried.js.gz`, gzipSync(carried.contents, { level: 9 }));
writeFileSync(`${destination}/charts.js.gz`, packed(charts, notices(modules(charts))));
// In HTML a script ends where it says so, even inside a string.
const opening = new TextDecoder().decode(opener.contents);
writeFileSync(`${destination}/opener.js`, opening.replaceAll("</script", "<\\/script"));
