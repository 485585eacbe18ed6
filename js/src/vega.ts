// Everything of Vega that the charts need, bundled apart from the widget because it is ten times as large.

export { default as embed } from "vega-embed";
export { expressionInterpreter } from "vega-interpreter";
