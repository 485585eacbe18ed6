// The entry of the bundle that one result of a notebook carries for all: the picture of the graph, and the tasks of jobs.

import { graphPng, graphSvg } from "./export/graph_picture.ts";
import type { Carried } from "./state/store.ts";
import graph from "./styles/graph.css";
import jobs from "./styles/jobs.css";
import { GraphPanel } from "./views/graph/graph.tsx";
import { JobsPanel } from "./views/jobs.tsx";

/** Its panels by name. */
export const panels: Carried["panels"] = { GraphPanel, JobsPanel };

/** Their styles, which apply after those of the other panels. */
export const style: Carried["style"] = [graph, jobs].join("\n");

/** The picture of the graph as a file. */
export const graphFile: Carried["graphFile"] = { svg: graphSvg, png: graphPng };
