// All styles of the widget, in the order in which they apply.

import base from "./base.css";
import charts from "./charts.css";
import controls from "./controls.css";
import fields from "./fields.css";
import menu from "./menu.css";
import panels from "./panels.css";
import slider from "./slider.css";
import table from "./table.css";
import timeline from "./timeline.css";

export const STYLE = [base, controls, fields, slider, menu, table, charts, timeline, panels].join("\n");
