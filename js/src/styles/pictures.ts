// The styles of what comes with js/src/pictures.ts; they apply after those of the widget.

import charts from "./charts.css";
import choices from "./choices.css";
import empty from "./empty.css";
import menu from "./menu.css";
import panels from "./panels.css";
import strip from "./strip.css";
import timeline from "./timeline.css";

export const PICTURES_STYLE = [empty, strip, choices, menu, charts, timeline, panels].join("\n");
