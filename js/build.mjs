// Bundles what the browser gets into tfprof_widget/static: the widget, the opener of saved results, and Vega.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";

const destination = "tfprof_widget/static";
// Every result in a notebook pays for the widget's size; Vega comes once.
const MOST_WIDGET_BYTES = 220_000;

const minifiedStyles = {
  name: "minified styles",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};

async function bundled(entry, format) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format,
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    minify: true,
    plugins: [minifiedStyles],
    target: "es2022",
    write: false,
  });
  return outputFiles[0].contents;
}

const widget = await bundled("js/src/widget.ts", "esm");
if (widget.length > MOST_WIDGET_BYTES) {
  throw new Error(`widget.js has ${widget.length} bytes, more than ${MOST_WIDGET_BYTES}`);
}
mkdirSync(destination, { recursive: true });
writeFileSync(`${destination}/widget.js`, widget);
// In HTML a script ends where it says so, even inside a string.
const opener = new TextDecoder().decode(await bundled("js/src/opener.ts", "iife"));
writeFileSync(`${destination}/opener.js`, opener.replaceAll("</script", "<\\/script"));
writeFileSync(`${destination}/vega.js.gz`, gzipSync(await bundled("js/src/vega.ts", "esm"), { level: 9 }));
