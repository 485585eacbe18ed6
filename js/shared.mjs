// Bundles the widget, and the bundles that come after it so that they use the widget's modules and not copies of them.

import { relative, resolve } from "node:path";
import { build } from "esbuild";

const sources = "js/src";

/**
 * Bundle `widget`, and `later` as a function of the widget's modules: one Preact, one engine, one state for both. The
 * widget's default export is called with the names that `later` imports of its modules, in an order that both know.
 */
export async function bundledTogether(widget, later, options) {
  let names = [];
  for (;;) {
    const first = await bundled(options, { stdin: lending(widget, names) });
    const lent = await importedNames(later, first.modules, options);
    // A name that is lent may bring further modules into the widget's bundle.
    if (String(lent) === String(names)) return [first, await borrowing(later, names, options)];
    names = lent;
  }
}

/** A bundle's contents, and the modules that it holds with their bytes in it. */
export async function bundled(options, given) {
  const { outputFiles, metafile } = await build({
    bundle: true,
    legalComments: "none",
    metafile: true,
    minify: true,
    outdir: "out",
    target: "es2022",
    write: false,
    ...options,
    ...given,
  });
  const [{ inputs }] = Object.values(metafile.outputs);
  const bytes = Object.entries(inputs).map(([path, { bytesInOutput }]) => [path, bytesInOutput]);
  return {
    contents: outputFiles[0].contents,
    modules: new Map(
      bytes.filter(([path, size]) => size > 0 && !path.startsWith("lent:") && path !== "lending"),
    ),
  };
}

/** The widget's entry: it hands over what the names, as "module name", stand for. */
function lending(widget, names) {
  const imports = names.map((each, index) => {
    const [module, name] = each.split(" ");
    return `import { ${name} as lent${index} } from ${JSON.stringify(resolve(module))};`;
  });
  const contents = [
    `import widget from "./${widget}";`,
    ...imports,
    `export default widget([${names.map((_, index) => `lent${index}`)}]);`,
  ];
  return { contents: contents.join("\n"), resolveDir: sources, sourcefile: "lending", loader: "ts" };
}

/** Which names a bundle imports of these modules, as "module name". */
async function importedNames(entry, modules, options) {
  const { contents } = await bundled(options, {
    entryPoints: [`${sources}/${entry}`],
    minify: false,
    plugins: [...options.plugins, takenFrom(modules, (path) => ({ path, external: true }))],
  });
  const statements = new TextDecoder()
    .decode(contents)
    .matchAll(/^import (\{[^}]*\}|.*) from "(.*)";$|^import \* .*$/gm); // a long list has lines of its own
  const names = [...statements].flatMap(([statement, clause, module]) => {
    const [, list] = clause?.match(/^\{([^}]*)\}$/) ?? [];
    if (!list) throw new Error(`only names can be lent to another bundle: ${statement}`);
    return list.split(",").map((each) => `${module} ${each.trim().split(" as ")[0]}`);
  });
  return [...new Set(names)].sort();
}

/** A later bundle, as a function that is called with what the widget lends. */
async function borrowing(entry, names, options) {
  const modules = new Map(names.map((each) => [each.split(" ")[0], 0]));
  return bundled(options, {
    entryPoints: [`${sources}/${entry}`],
    format: "iife",
    globalName: "later",
    banner: { js: "export default function(lent){" },
    footer: { js: "return later}" },
    plugins: [
      ...options.plugins,
      {
        name: "borrowed modules",
        setup({ onLoad }) {
          onLoad({ filter: /./, namespace: "lent" }, ({ path }) => ({
            contents: names
              .map((each, index) => [each.split(" "), index])
              .filter(([[module]]) => module === path)
              .map(([[, name], index]) => `export const ${name} = lent[${index}];`)
              .join("\n"),
          }));
        },
      },
      takenFrom(modules, (path) => ({ path, namespace: "lent", sideEffects: false })),
    ],
  });
}

/** Resolves imports of these modules by `take`, and leaves all others alone. */
function takenFrom(modules, take) {
  return {
    name: "taken from the widget",
    setup(compiling) {
      compiling.onResolve({ filter: /./ }, async ({ path, pluginData, ...given }) => {
        if (pluginData === "seen" || given.kind === "entry-point") return undefined;
        const found = await compiling.resolve(path, { ...given, pluginData: "seen" });
        const module = relative(process.cwd(), found.path);
        return modules.has(module) ? take(module) : undefined;
      });
    },
  };
}
