// Bundles the widget, and the bundles that come after it so that they use the widget's modules and not copies of them.

import { relative, resolve } from "node:path";
import { build } from "esbuild";

const sources = "js/src";

/**
 * Bundle the entries, each after the first as a function of the modules of those before it: one Preact, one engine, one
 * state for all. The first one's default export is called with the names that later ones import of its modules, in an
 * order that all know; another one exports such names as `lent`. A bundle's function takes what those before it lend.
 */
export async function bundledTogether(entries, options) {
  let names = entries.map(() => []);
  for (;;) {
    const bundles = [];
    for (const [place, entry] of entries.entries()) {
      const taken = names.slice(0, place).flat();
      const source = place ? lendingPanels(entry, names[place]) : lending(entry, names[0]);
      bundles.push(await (place ? borrowing(source, taken, options) : bundled(options, { stdin: source })));
    }
    const lent = await lentNames(entries, names, bundles, options);
    // A name that is lent may bring further modules into a bundle, which may need further names.
    if (JSON.stringify(lent) === JSON.stringify(names)) return bundles;
    names = lent;
  }
}

/** For each bundle the names of its modules that later bundles import. */
async function lentNames(entries, names, bundles, options) {
  const owners = new Map();
  const lent = entries.map(() => new Set());
  for (const [place, { modules }] of bundles.entries()) {
    if (place) {
      const source = lendingPanels(entries[place], names[place]);
      for (const name of await importedNames(source, owners, options))
        lent[owners.get(moduleIn(name))].add(name);
    }
    for (const path of modules.keys()) if (!owners.has(path)) owners.set(path, place);
  }
  return lent.map((each) => [...each].sort());
}

const moduleIn = (name) => name.split(" ")[0];

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
      bytes.filter(([path, size]) => size > 0 && !path.startsWith("lent:") && path !== `${sources}/lending`),
    ),
  };
}

/** The widget's entry: it hands over what the names, as "module name", stand for. */
function lending(widget, names) {
  return entryWith(names, `import widget from "./${widget}";`, (list) => `export default widget(${list});`);
}

/** The entry of a later bundle, which exports what it lends beside its own. */
function lendingPanels(panels, names) {
  return entryWith(names, `export * from "./${panels}";`, (list) => `export const lent = ${list};`);
}

function entryWith(names, first, last) {
  const imports = names.map((each, index) => {
    const [module, name] = each.split(" ");
    return `import { ${name} as lent${index} } from ${JSON.stringify(resolve(module))};`;
  });
  const contents = [first, ...imports, last(`[${names.map((_, index) => `lent${index}`)}]`)].join("\n");
  return { contents, resolveDir: sources, sourcefile: "lending", loader: "ts" };
}

/** Which names a bundle imports of these modules, as "module name". */
async function importedNames(source, modules, options) {
  const { contents } = await bundled(options, {
    stdin: source,
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

/** A later bundle, as a function that is called with what those before it lend. */
async function borrowing(source, names, options) {
  const modules = new Map(names.map((each) => [moduleIn(each), 0]));
  return bundled(options, {
    stdin: source,
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
    name: "taken from bundles before",
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
