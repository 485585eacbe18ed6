// Bundles what the browser gets into tfprof_widget/static: the widget, the opener of saved results, the pictures,
// and the notices of those whose code is in them.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { notices } from "./notices.mjs";

const sources = "js/src";
// A test has it built elsewhere, to compare.
const destination = process.argv[2] ?? "tfprof_widget/static";
// Every result in a notebook pays for the widget's size; the pictures, Vega among them, come once.
const MOST_WIDGET_BYTES = 120_000;

const minifiedStyles = {
  name: "minified styles",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};

/** What js/src/shared.ts imports: the names by module. */
function sharedModules() {
  const source = readFileSync(`${sources}/shared.ts`, "utf8");
  const imports = source.matchAll(/^import \{([^}]*)\} from "(.*)";$/gm);
  return Object.fromEntries([...imports].map(([, names, path]) => [path.replace(/^\.\//, ""), names]));
}

/** Takes these modules from the argument `shared`; a name that is not there stops the build. */
function takenFromTheWidget(shared) {
  return {
    name: "taken from the widget",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /./ }, ({ path, resolveDir }) => {
        const module = path.startsWith(".") ? relative(sources, resolve(resolveDir, path)) : path;
        return module in shared ? { path: module, namespace: "shared", sideEffects: false } : undefined;
      });
      onLoad({ filter: /./, namespace: "shared" }, ({ path }) => ({
        contents: `export const { ${shared[path]} } = shared;`,
      }));
    },
  };
}

async function bundled(entry, format, options = {}) {
  const { outputFiles, metafile } = await build({
    entryPoints: [`${sources}/${entry}`],
    bundle: true,
    format,
    inject: [`${sources}/jsx.ts`],
    jsx: "transform",
    jsxFactory: "h",
    jsxFragment: "Fragment",
    // tsconfig.json would have JSX written out longer, and fields that a constructor fills be declared as well.
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
    legalComments: "none",
    metafile: true,
    minify: true,
    outdir: destination,
    target: "es2022",
    write: false,
    ...options,
    plugins: [minifiedStyles, ...(options.plugins ?? [])],
  });
  const [{ inputs }] = Object.values(metafile.outputs);
  const modules = Object.keys(inputs).filter((path) => inputs[path].bytesInOutput > 0);
  return { contents: outputFiles[0].contents, modules };
}

const widget = await bundled("widget.ts", "esm");
const pictures = await bundled("pictures.ts", "iife", {
  banner: { js: "export default function(shared){" },
  footer: { js: "return pictures}" },
  globalName: "pictures",
  plugins: [takenFromTheWidget(sharedModules())],
});
// It draws nothing itself, and what is injected would stay in.
const opener = await bundled("opener.ts", "iife", { inject: [] });

const twice = pictures.modules.filter((path) => widget.modules.includes(path));
if (twice.length) {
  throw new Error(`in both bundles, so that state would be kept twice; add to js/src/shared.ts: ${twice}`);
}
if (widget.contents.length > MOST_WIDGET_BYTES) {
  throw new Error(`widget.js has ${widget.contents.length} bytes, more than ${MOST_WIDGET_BYTES}`);
}
const licences = notices([widget, pictures, opener].flatMap((bundle) => bundle.modules));
// Pages and saved results have all this code in them, so the licences go with it, at the end of the pictures.
const licensed = [pictures.contents, Buffer.from(licences.replace(/^/gm, "// "))];
mkdirSync(destination, { recursive: true });
writeFileSync(`${destination}/widget.js`, widget.contents);
writeFileSync(`${destination}/pictures.js.gz`, gzipSync(Buffer.concat(licensed), { level: 9 }));
// In HTML a script ends where it says so, even inside a string.
const opening = new TextDecoder().decode(opener.contents);
writeFileSync(`${destination}/opener.js`, opening.replaceAll("</script", "<\\/script"));
writeFileSync(`${destination}/THIRD_PARTY_NOTICES.txt`, licences);
