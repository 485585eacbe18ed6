// The entry of the bundle that one result of a notebook carries for all: the picture of the graph, exports, and jobs.

import { ExportMenu } from "./export/menu.tsx";
import type { Carried } from "./state/store.ts";
import graph from "./styles/graph.css";
import jobs from "./styles/jobs.css";
import { GraphPanel } from "./views/graph/graph.tsx";
import { JobsPanel } from "./views/jobs.tsx";

/** Its panels by name. */
export const panels: Carried["panels"] = { ExportMenu, GraphPanel, JobsPanel };

/** Their styles, which apply after those of the other panels. */
export const style: Carried["style"] = [graph, jobs].join("\n");
