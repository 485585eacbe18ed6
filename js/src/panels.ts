// The second bundle, with Vega in it: what the first paint can do without, shipped once for all widgets of a notebook.

export { ExportMenu } from "./export/export_menu.tsx";
export { PICTURES_STYLE } from "./styles/pictures.ts";
export { AdvicePanel } from "./views/advice.tsx";
export { Charts } from "./views/charts/charts.tsx";
export { Chips, Reset } from "./views/chips.tsx";
export { CutLine } from "./views/cut_graph.tsx";
export { MemoryPanel } from "./views/memory.tsx";
export { OtherOptions } from "./views/more_options.tsx";
export { SelectionPanel } from "./views/selection.tsx";
export { EmptyTable } from "./views/table/empty.tsx";
export { ZoomPath } from "./views/table/messages.tsx";
export { MiniTimeline } from "./views/timeline/mini_timeline.tsx";
export { Timeline } from "./views/timeline/timeline.tsx";
export { WorkersPanel } from "./views/workers/workers.tsx";
