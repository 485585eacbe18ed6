// The whole widget as one page that shows it anywhere, sliders included; tfprof_widget/widget/report.py makes the same in Python.

import type { Assets, Model } from "../data/model.ts";
import { OPTIONS } from "../data/protocol.ts";
import { visibleLines } from "../lib/visible.ts";

/** What goes into the template: text that is already HTML. */
export interface Places {
  readonly title: string;
  readonly static: string;
  readonly parts: string;
}

// As `SHOWN` in tfprof_widget/widget/traits.py.
const SHOWN = ["view", "metric", "graph", "selection", "search", "title", "_about"];
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
    charts: assets.charts,
  };
  const parts: [name: string, content: Blob][] = [
    ["widget", await zipped(String(model.get("_esm")))],
    ["pictures", new Blob([assets.pictures as BlobPart])],
    ["page", await zipped(assets.page)],
    ["state", await zipped(JSON.stringify(state))],
  ];
  for (const [index, { columns }] of graphs.entries())
    parts.push([`columns-${index}`, await zipped(columns)]);
  const scripts = parts.map(async ([name, content]) => {
    return `<script type="text/plain" data-part="${name}">${await base64(content)}</script>`;
  });
  return (await Promise.all(scripts)).join("");
}

function zipped(content: BlobPart): Promise<Blob> {
  return new Response(new Blob([content]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
}

/** The browser's own base64, which does not block. */
function base64(content: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^.*?,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(content);
  });
}
