// Gives scripts of tests the browser's own code, bundled as the widget's is.

import { join } from "node:path";
import { build } from "esbuild";

/** What files of js/src export: `parts` has the names by file; `first` is a line that runs before. */
export async function browserCode(parts, first = "") {
  const lines = Object.entries(parts).map(([file, names]) => `export { ${names} } from "./${file}";`);
  const { outputFiles } = await build({
    stdin: {
      contents: [first, ...lines].join("\n"),
      resolveDir: join(import.meta.dirname, "../js/src"),
      loader: "ts",
    },
    bundle: true,
    format: "esm",
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
