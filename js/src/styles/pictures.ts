// The styles of what comes with js/src/pictures.ts; they apply after those of the widget.

import charts from "./charts.css";
import chips from "./chips.css";
import choices from "./choices.css";
import empty from "./empty.css";
import menu from "./menu.css";
import panels from "./panels.css";
import pointed from "./pointed.css";
import rest from "./rest.css";
import strip from "./strip.css";
import timeline from "./timeline.css";
import workers from "./workers.css";

export const PICTURES_STYLE = [
  empty,
  strip,
  pointed,
  chips,
  choices,
  menu,
  charts,
  timeline,
  panels,
  rest,
  workers,
].join("\n");
