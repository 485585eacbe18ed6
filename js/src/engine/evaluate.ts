// From a profile, a view's name and options to the View: which modules do the work, and what is kept between views.

import { checkOptions } from "../data/options.ts";
import { cacheOf, type Profile } from "../data/profile.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import type { Forest } from "./account.ts";
import { codeForest, codeTree } from "./code.ts";
import type { Flags } from "./columns.ts";
import type { Display } from "./display.ts";
import { graphForest, graphTree } from "./graph.ts";
import { isEverything, Names } from "./matching.ts";
import { measures } from "./measures.ts";
import { opForest, opTree, opView } from "./op.ts";
import { scopeForest, scopeTree } from "./scope.ts";
import { Sums } from "./sums.ts";
import type { Tree } from "./tree.ts";
import { treeView } from "./tree_view.ts";
import type { View } from "./view.ts";

const TREES: Readonly<Record<ViewName, (profile: Profile) => Tree>> = {
  scope: ({ nodes }) => scopeTree(nodes.names),
  graph: ({ nodes }) => graphTree(nodes.names, nodes.inputs),
  code: ({ nodes, traces }) => codeTree(nodes.names, traces),
  op: opTree,
};

const FORESTS: Readonly<Record<ViewName, (profile: Profile, tree: Tree, options: Options) => Forest>> = {
  scope: scopeForest,
  graph: graphForest,
  code: codeForest,
  op: opForest,
};

/** The tree of a view, which depends on the profile only and is kept with it. */
export function viewTree(profile: Profile, kind: ViewName): Tree {
  return cacheOf(profile).kept(`tree ${kind}`, () => TREES[kind](profile));
}

/** The rows of a view under the options; an OptionError or ProfileError where there are none to be had. */
export function evaluate(profile: Profile, kind: ViewName, options: Options): View {
  checkOptions(options);
  const memory = cacheOf(profile);
  const accounting = JSON.stringify([kind, options.timing, options.accountTypeRegexes]);
  const measuring = JSON.stringify([
    options.step,
    options.runNameRegexes,
    options.workerRegexes,
    options.acrossWorkers,
  ]);
  const tree = viewTree(profile, kind);
  const forest = memory.recent(`forest ${accounting}`, () => FORESTS[kind](profile, tree, options));
  const sums = memory.recent(
    `sums ${accounting} ${measuring}`,
    () => new Sums(forest, measures(profile, options)),
  );
  const display: Display = {
    names: memory.kept(`names ${kind}`, () => new Names(tree.names)),
    sums,
    devices: isEverything(options.deviceRegexes)
      ? undefined
      : memory.recent(`devices ${accounting} ${JSON.stringify(options.deviceRegexes)}`, () =>
          deviceMatches(profile, forest.tree, options),
        ),
    ownThresholds: kind === "scope" || kind === "graph",
    cutsItself: kind === "code",
  };
  return kind === "op" ? opView(profile, options, display) : treeView(profile, kind, options, display);
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
