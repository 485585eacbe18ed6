// From a profile, a view's name and options to the View: which modules do the work, and what is kept between views.

import { checkOptions } from "../data/options.ts";
import { cacheOf, type Profile } from "../data/profile.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import type { Forest } from "./account.ts";
import type { Flags } from "./columns.ts";
import type { Display } from "./display.ts";
import { type Compile, compileWith, isEverything, Names, NotLoaded } from "./matching.ts";
import { type Measures, measures } from "./measures.ts";
import { scopeForest, scopeTree } from "./scope.ts";
import { chosenSteps } from "./steps.ts";
import { Sums } from "./sums.ts";
import type { Tree } from "./tree.ts";
import { treeView } from "./tree_view.ts";
import type { View } from "./view.ts";

/**
 * How a view is evaluated: its tree, what is accounted of it, and its rows where they are not those of a tree view.
 * Where the steps change more than measures, `inSteps` gives the profile as it is in them. `flag` sets the flags of nodes
 * that are behind names of its places.
 */
interface ViewEngine {
  inSteps?(profile: Profile, steps: readonly number[]): Profile;
  flag?(profile: Profile, steps: readonly number[], names: ReadonlySet<string>, flags: Uint8Array): void;
  /** The measures with those that this view alone tells. */
  measured?(profile: Profile, found: Measures): Measures;
  tree(profile: Profile): Tree;
  forest(profile: Profile, tree: Tree, options: Options): Forest;
  view?(profile: Profile, options: Options, display: Display): View;
}

/** What comes after the first paint: the other views, and regexes with operators. */
export interface Extension {
  readonly views: Partial<Record<ViewName, ViewEngine>>;
  readonly compile: Compile;
}

const views: Partial<Record<ViewName, ViewEngine>> = {
  scope: { tree: ({ nodes }) => scopeTree(nodes.names), forest: scopeForest },
};

/** Let the engine do all that an extension can; it only adds. */
export function extend(extension: Extension): void {
  Object.assign(views, extension.views);
  compileWith(extension.compile);
}

/** The tree of a view, which depends on the profile only and is kept with it. */
export function viewTree(profile: Profile, kind: ViewName): Tree {
  const { tree } = engineOf(kind);
  return cacheOf(profile).kept(`tree ${kind}`, () => tree(profile));
}

/** The engine of a view; NotLoaded if it has not arrived. */
export function engineOf(kind: ViewName): ViewEngine {
  const found = views[kind];
  if (!found) throw new NotLoaded(`the ${kind} view is not loaded yet`);
  return found;
}

/** The rows of a view under the options; an OptionError, ProfileError or NotLoaded where there are none to be had. */
export function evaluate(whole: Profile, kind: ViewName, options: Options): View {
  checkOptions(options);
  const engine = engineOf(kind);
  const profile = engine.inSteps?.(whole, chosenSteps(whole, options)) ?? whole;
  const cache = cacheOf(profile);
  const accounting = JSON.stringify([kind, options.timing, options.accountTypeRegexes]);
  const measuring = JSON.stringify([
    options.step,
    options.runNameRegexes,
    options.workerRegexes,
    options.acrossWorkers,
  ]);
  const tree = viewTree(profile, kind);
  const forest = cache.recent(`forest ${accounting}`, () => engine.forest(profile, tree, options));
  const sums = cache.recent(`sums ${accounting} ${measuring}`, () => {
    const found = measures(profile, options);
    return new Sums(forest, engine.measured?.(profile, found) ?? found);
  });
  const display: Display = {
    names: cache.kept(`names ${kind}`, () => new Names(tree.names)),
    sums,
    devices: isEverything(options.deviceRegexes)
      ? undefined
      : cache.recent(`devices ${accounting} ${JSON.stringify(options.deviceRegexes)}`, () =>
          deviceMatches(profile, forest.tree, options),
        ),
    ownThresholds: kind === "scope" || kind === "graph",
    cutsItself: kind === "code",
  };
  return engine.view?.(profile, options, display) ?? treeView(profile, kind, options, display);
}

/** Whether a place has a node on a matching device; a node without one is on the device of the empty name. */
function deviceMatches(profile: Profile, tree: Tree, options: Options): Flags {
  const { devices, device } = profile.nodes;
  const matching = new Names([...devices, ""]).matching("device_regexes", options.deviceRegexes);
  const found = new Uint8Array(tree.size);
  for (let place = 0; place < found.length; place++) {
    const last = tree.rowStart[place + 1] as number;
    for (let row = tree.rowStart[place] as number; row < last; row++) {
      const index = device[tree.rows[row] as number] as number;
      if (matching[index < 0 ? devices.length : index]) found[place] = 1;
    }
  }
  return found;
}
