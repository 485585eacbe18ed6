// The styles that the first paint needs, in the order in which they apply.

import base from "./base.css";
import controls from "./controls.css";
import fields from "./fields.css";
import slider from "./slider.css";
import table from "./table.css";

export const STYLE = [base, controls, fields, slider, table].join("\n");
