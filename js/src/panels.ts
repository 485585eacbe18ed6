// The entry of the second bundle: the panels that the first paint can do without, and what the engine can do besides.

import { regionsOf, sourceOf } from "./analysis/frames.ts";
import { extend } from "./engine/evaluate.ts";
import { EXTENSION } from "./engine/extension.ts";
import { ExportMenu } from "./export/menu.tsx";
import { readFrames } from "./state/listing.ts";
import type { Panels } from "./state/store.ts";
import charts from "./styles/charts.css";
import chips from "./styles/chips.css";
import choices from "./styles/choices.css";
import controls from "./styles/controls.css";
import empty from "./styles/empty.css";
import fields from "./styles/fields.css";
import menu from "./styles/menu.css";
import panelStyles from "./styles/panels.css";
import pointed from "./styles/pointed.css";
import rest from "./styles/rest.css";
import slider from "./styles/slider.css";
import strip from "./styles/strip.css";
import timeline from "./styles/timeline.css";
import workers from "./styles/workers.css";
import { AdvicePanel } from "./views/advice.tsx";
import { Charts } from "./views/charts/charts.tsx";
import { CutLine } from "./views/cut_graph.tsx";
import { Filters } from "./views/filters.tsx";
import { MemoryPanel } from "./views/memory.tsx";
import { SelectionPanel } from "./views/selection.tsx";
import { EmptyTable, ZoomPath } from "./views/table/messages.tsx";
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
  EmptyTable,
  ExportMenu,
  Filters,
  MemoryPanel,
  MiniTimeline,
  SelectionPanel,
  Timeline,
  WorkersPanel,
  ZoomPath,
};

/** Their styles, which apply after those of the widget. */
export const style: Panels["style"] = [
  controls,
  fields,
  slider,
  empty,
  strip,
  pointed,
  chips,
  choices,
  menu,
  charts,
  timeline,
  panelStyles,
  rest,
  workers,
].join("\n");
