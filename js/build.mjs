// Bundles what the browser gets into tfprof_widget/static: the widget, the opener of saved results, the pictures,
// and the notices of those whose code is in them.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { transform } from "esbuild";
import { notices } from "./notices.mjs";
import { bundled, bundledTogether } from "./shared.mjs";

const sources = "js/src";
// A test has it built elsewhere, to compare.
const destination = process.argv[2] ?? "tfprof_widget/static";
// Every result in a notebook pays for the widget's size; the pictures, Vega among them, come once.
const MOST_WIDGET_BYTES = 110_000;

const minifiedStyles = {
  name: "minified styles",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};

const options = {
  format: "esm",
  inject: ["js/jsx.mjs"],
  jsx: "transform",
  jsxFactory: "h",
  jsxFragment: "Fragment",
  // tsconfig.json would have JSX written out longer, and fields that a constructor fills be declared as well.
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
  plugins: [minifiedStyles],
};

const [widget, pictures] = await bundledTogether("widget.ts", "panels.ts", options);
// It draws nothing itself, and what is injected would stay in.
const opener = await bundled(
  { ...options, inject: [] },
  { entryPoints: [`${sources}/opener.ts`], format: "iife" },
);

const twice = [...pictures.modules.keys()].filter((path) => widget.modules.has(path));
if (twice.length) {
  throw new Error(`in both bundles, so that state would be kept twice: ${twice}`);
}
if (widget.contents.length > MOST_WIDGET_BYTES) {
  throw new Error(`widget.js has ${widget.contents.length} bytes, more than ${MOST_WIDGET_BYTES}`);
}
const licences = notices([widget, pictures, opener].flatMap((bundle) => [...bundle.modules.keys()]));
// Pages and saved results have all this code in them, so the licences go with it, at the end of the pictures.
const licensed = [pictures.contents, Buffer.from(licences.replace(/^/gm, "// "))];
mkdirSync(destination, { recursive: true });
writeFileSync(`${destination}/widget.js`, widget.contents);
writeFileSync(`${destination}/pictures.js.gz`, gzipSync(Buffer.concat(licensed), { level: 9 }));
// In HTML a script ends where it says so, even inside a string.
const opening = new TextDecoder().decode(opener.contents);
writeFileSync(`${destination}/opener.js`, opening.replaceAll("</script", "<\\/script"));
writeFileSync(`${destination}/THIRD_PARTY_NOTICES.txt`, licences);
