// The entry of the second bundle: the panels that the first paint can do without, and what the engine can do besides.

import { regionsOf, sourceOf } from "./analysis/frames.ts";
import { extend } from "./engine/evaluate.ts";
import { EXTENSION } from "./engine/extension.ts";
import { readFrames } from "./state/listing.ts";
import type { Panels } from "./state/store.ts";
import comparing from "./styles/comparing.css";
import drawings from "./styles/drawings.css";
import filters from "./styles/filters.css";
import live from "./styles/live.css";
import media from "./styles/media.css";
import overview from "./styles/overview.css";
import panelStyles from "./styles/panels.css";
import table from "./styles/table.css";
import { AdvicePanel } from "./views/advice.tsx";
import { Charts } from "./views/charts/charts.tsx";
import { CutLine } from "./views/cut_graph.tsx";
import { Filters } from "./views/filters.tsx";
import { HistoryPanel } from "./views/history/history.tsx";
import { MemoryPanel } from "./views/memory.tsx";
import { OverviewPanel } from "./views/overview/overview.tsx";
import { SelectionPanel } from "./views/selection.tsx";
import { StepChoice, StepFacts } from "./views/steps.tsx";
import { LeftOut } from "./views/table/beside.tsx";
import { TreeTable } from "./views/table/table.tsx";
import { MiniTimeline } from "./views/timeline/mini_timeline.tsx";
import { Timeline } from "./views/timeline/timeline.tsx";
import { WorkersPanel } from "./views/workers/workers.tsx";

extend(EXTENSION);
readFrames({ regionsOf, sourceOf });

/** All panels by name. */
export const panels: Panels["panels"] = {
  AdvicePanel,
  Charts,
  CutLine,
  Filters,
  HistoryPanel,
  LeftOut,
  MemoryPanel,
  MiniTimeline,
  OverviewPanel,
  SelectionPanel,
  StepChoice,
  StepFacts,
  Timeline,
  TreeTable,
  WorkersPanel,
};

/** Their styles, which apply after those of the widget. */
export const style: Panels["style"] = [
  table,
  filters,
  panelStyles,
  drawings,
  comparing,
  overview,
  live,
  media,
].join("\n");
