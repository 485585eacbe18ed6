// What the engine can do after the first paint: graph, op, code and layers view, and regexes with operators.

import { codeForest, codeTree, flagCreated, inSteps } from "./code.ts";
import type { Extension } from "./evaluate.ts";
import { graphForest, graphTree } from "./graph.ts";
import { layersTree, withPasses } from "./layers.ts";
import { opForest, opTree, opView } from "./op.ts";
import { compiled } from "./regex.ts";

export const EXTENSION: Extension = {
  views: {
    graph: { tree: ({ nodes }) => graphTree(nodes.names, nodes.inputs), forest: graphForest },
    code: {
      tree: ({ nodes, traces, stepNames }) => codeTree(nodes.names, traces, stepNames),
      forest: codeForest,
      inSteps,
      flag: flagCreated,
    },
    op: { tree: opTree, forest: opForest, view: opView },
    layers: { tree: layersTree, forest: codeForest, measured: withPasses },
  },
  compile: compiled,
};
