// The second bundle, with Vega in it: what the first paint can do without, shipped once for all widgets of a notebook.

export { ExportMenu } from "./export/export_menu.tsx";
export { Rest } from "./rest/rest.tsx";
export { PICTURES_STYLE } from "./styles/pictures.ts";
export { Chips, Reset } from "./ui/chips.tsx";
export { MoreOptions } from "./ui/more_options.tsx";
export { AdvicePanel } from "./views/advice.tsx";
export { Charts } from "./views/charts.tsx";
export { MemoryPanel } from "./views/memory.tsx";
export { SelectionPanel } from "./views/selection.tsx";
export { TimelineStrip } from "./views/timeline/strip.tsx";
export { Timeline } from "./views/timeline/timeline.tsx";
export { Empty } from "./views/tree/empty.tsx";
export { Strip } from "./views/tree/strip.tsx";
export { WorkersPanel } from "./views/workers.tsx";
