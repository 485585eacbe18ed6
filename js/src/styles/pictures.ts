// The styles of what comes with js/src/pictures.ts; they apply after those of the widget.

import charts from "./charts.css";
import choices from "./choices.css";
import menu from "./menu.css";
import panels from "./panels.css";
import timeline from "./timeline.css";

export const PICTURES_STYLE = [choices, menu, charts, timeline, panels].join("\n");
