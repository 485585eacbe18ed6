// The entry of the bundle that one result of a notebook carries for all: the picture of the graph, exports, and jobs.

import { ExportMenu } from "./export/menu.tsx";
import type { Carried } from "./state/store.ts";
import graph from "./styles/graph.css";
import jobs from "./styles/jobs.css";
import { GraphPanel } from "./views/graph/graph.tsx";
import { JobsPanel } from "./views/jobs.tsx";

/** Its panels by name, and their styles, which apply after those of the other panels. */
export const carried: Carried = {
  panels: { ExportMenu, GraphPanel, JobsPanel },
  style: [graph, jobs].join("\n"),
};
