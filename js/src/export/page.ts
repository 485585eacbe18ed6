// Everything as one page: the widget with its data, and a static table for readers without scripts.

import type { Fact } from "../data/graphs.ts";
import type { Assets, Model } from "../data/model.ts";
import { OPTIONS } from "../data/protocol.ts";
import type { Measure } from "../engine/measures.ts";
import type { View } from "../engine/view.ts";
import { visibleLines } from "../lib/format.ts";
import { base64, gzipped } from "../lib/packing.ts";
import { costliestRows, shownMeasures, shownPart, valueIn } from "./files.ts";

/** What goes into the template: text that is already HTML. */
export interface Places {
  readonly title: string;
  readonly static: string;
  readonly parts: string;
}

// As `SHOWN` in tfprof_widget/widget/traits.py.
const SHOWN = [
  "view",
  "metric",
  "graph",
  "selection",
  "search",
  "title",
  "_column_widths",
  "_about",
  "_history",
];
const TRAITS = [...OPTIONS.filter(({ kind }) => kind !== "text").map(({ name }) => name), ...SHOWN];

/** The template with its places filled. */
export function page(template: string, places: Places): string {
  return template.replace(/<!--(title|static|parts)-->/g, (_, place: keyof Places) => places[place]);
}

/** Text as HTML shows it, in content and in attributes, with nothing hidden in it. */
export function escaped(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return visibleLines(text).replace(/[&<>"']/g, (character) => entities[character] as string);
}

/** What the opener unpacks: the widget with its assets, and what it shows now. */
export async function packedParts(model: Model, assets: Assets): Promise<string> {
  const graphs = (model.get("_graphs") ?? []) as readonly (Record<string, unknown> & { columns: BlobPart })[];
  const state = {
    traits: Object.fromEntries(TRAITS.map((name) => [name, model.get(name)])),
    graphs: graphs.map(({ columns: _, ...graph }) => graph),
  };
  const parts: (readonly [name: string, content: Blob])[] = [
    ["widget", await gzipped(String(model.get("_esm")))],
    ["panels", new Blob([assets.panels as BlobPart])],
    ...(["carried", "charts"] as const).flatMap((name) => {
      const code = assets[name];
      return code ? [[name, new Blob([code as BlobPart])] as const] : [];
    }),
    ["page", await gzipped(assets.page)],
    ["state", await gzipped(JSON.stringify(state))],
  ];
  for (const [index, { columns }] of graphs.entries())
    parts.push([`columns-${index}`, await gzipped(columns)]);
  const scripts = parts.map(async ([name, content]) => {
    return `<script type="text/plain" data-part="${name}">${await base64(content)}</script>`;
  });
  return (await Promise.all(scripts)).join("");
}

// As many as a result without scripts shows, by tfprof_widget/widget/scriptless.py.
const MOST_ROWS = 20;

/** What a reader without scripts sees: the head line, the chart and the costliest rows. */
export async function staticPart(
  title: string,
  facts: readonly Fact[],
  view: View | null,
  picture: Blob | undefined,
): Promise<string> {
  const told = facts.map(({ label, value }) => escaped(`${label} ${value}`)).join(" · ");
  const source = picture && `data:image/svg+xml;base64,${await base64(picture)}`;
  const image = source ? `<p><img alt="costs by op type" style="max-width: 100%" src="${source}"></p>` : "";
  return `<h2>${escaped(title || "tfprof")}</h2><p>${told}</p>${image}${view ? staticTable(view) : ""}`;
}

/** A table of the costliest rows, with the own value and total of each selected measure that has values. */
export function staticTable(view: View): string {
  const measures = shownMeasures(view);
  const head = ["name", ...measures.flatMap((measure) => [measure, `total ${measure}`])];
  const rows = costliestRows(view, MOST_ROWS).map((row) => tableRow(view, measures, row));
  return `<table><tr>${head.map((name) => `<th>${name}</th>`).join("")}</tr>${rows.join("")}</table>`;
}

function tableRow(view: View, measures: readonly Measure[], row: number): string {
  const values = measures.flatMap((measure) => {
    return [view.own(measure), view.total(measure)].map(valueIn(view, measure, row));
  });
  const name = `<td>${"&emsp;".repeat(view.depth[row] as number)}${escaped(shownPart(view, row))}</td>`;
  return `<tr>${name}${values.map((value) => `<td align="right">${value}</td>`).join("")}</tr>`;
}
