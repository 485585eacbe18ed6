// Bundles the widget, and the bundles that come after it so that they use the widget's modules and not copies of them.

import { relative, resolve } from "node:path";
import { build } from "esbuild";

const sources = "js/src";
/** What the argument of a later bundle is called in it: esbuild gives this name to nothing else. */
const LENT = "L";

/**
 * Bundle the entries, each after the first as a function of the modules of those before it: one Preact, one engine, one
 * state for all. The first one's default export is called with the names that later ones import of its modules, in an
 * order that all know; another one exports such names as `lent`. A bundle's function takes what those before it lend.
 */
export async function bundledTogether(entries, options) {
  let [names, taken] = [entries.map(() => []), entries.map(() => [])];
  for (;;) {
    const bundles = [];
    for (const [place, entry] of entries.entries()) {
      const before = names.slice(0, place).flat();
      const source = place ? lendingPanels(entry, names[place]) : lending(entry, names[0]);
      const own = new Set(taken[place]);
      bundles.push(
        await (place ? borrowing(source, before, own, options) : bundled(options, { stdin: source })),
      );
    }
    const found = await lentNames(entries, names, bundles, options);
    // A name that is lent may bring further modules into a bundle, which may need further names.
    if (JSON.stringify(found) === JSON.stringify({ lent: names, taken })) return bundles;
    ({ lent: names, taken } = found);
  }
}

/** For each bundle the names of its modules that later bundles import, and those that it imports of earlier ones. */
async function lentNames(entries, names, bundles, options) {
  const owners = new Map();
  const lent = entries.map(() => new Set());
  const taken = entries.map(() => []);
  for (const [place, { modules }] of bundles.entries()) {
    if (place) {
      const source = lendingPanels(entries[place], names[place]);
      taken[place] = await importedNames(source, owners, options);
      for (const name of taken[place]) lent[owners.get(moduleIn(name))].add(name);
    }
    for (const path of modules.keys()) if (!owners.has(path)) owners.set(path, place);
  }
  return { lent: lent.map((each) => [...each].sort()), taken };
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

/** The entry of a later bundle, which hands over what it lends beside its own. */
function lendingPanels(panels, names) {
  const first = `import * as own from "./${panels}";`;
  return entryWith(names, first, (list) => `${LENT}.own = { ...own, lent: ${list} };`);
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

/** A later bundle, as a function that is called with what those before it lend, of which it takes some. */
async function borrowing(source, names, taken, options) {
  const modules = new Map(names.map((each) => [moduleIn(each), 0]));
  return bundled(options, {
    stdin: source,
    format: "iife",
    banner: { js: `export default function(${LENT}){` },
    footer: { js: `return ${LENT}.own}` },
    plugins: [
      ...options.plugins,
      {
        name: "borrowed modules",
        setup({ onLoad }) {
          onLoad({ filter: /./, namespace: "lent" }, ({ path }) => ({
            contents: names
              .map((each, index) => [each.split(" "), index])
              .filter(([[module, name]]) => module === path && taken.has(`${module} ${name}`))
              .map(([[, name], index]) => `export const ${name} = ${LENT}[${index}];`)
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
