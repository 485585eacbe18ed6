// The entry of the bundle that one result of a notebook carries for all: the picture of the graph, pictures as files, jobs.

import { graphPicture } from "./export/graph_picture.ts";
import { chartPictures } from "./export/pictures.ts";
import type { Carried } from "./state/store.ts";
import graph from "./styles/graph.css";
import jobs from "./styles/jobs.css";
import { GraphPanel } from "./views/graph/graph.tsx";
import { JobsPanel } from "./views/jobs.tsx";

/** Its panels by name. */
export const panels: Carried["panels"] = { GraphPanel, JobsPanel };

/** Their styles, which apply after those of the other panels. */
export const style: Carried["style"] = [graph, jobs].join("\n");

/** What is shown as files: the charts, which need their own library, and the graph. */
export const picturesOf: Carried["picturesOf"] = (store, within) => [
  ...chartPictures(store),
  graphPicture(store, within),
];
