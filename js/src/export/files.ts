// Files to hand over: the rows as CSV, a chart as SVG or PNG, and their names.

import { MEASURES } from "../engine/measures.ts";
import type { View } from "../engine/view.ts";
import { fromBase64 } from "../lib/encoding.ts";
import { uncomputed, visibleLines } from "../lib/format.ts";
import type { Drawing } from "../state/bundles.ts";

type CsvColumn = readonly [name: string, cell: (row: number) => string];

const ROWS_A_PART = 2000;

/** The lines of a view, some at a time. */
export function* csvParts(view: View): Generator<string> {
  const columns = csvColumns(view);
  yield line(columns.map(([name]) => name));
  for (let first = 0; first < view.rows; first += ROWS_A_PART) {
    const rows = Array.from(
      { length: Math.min(ROWS_A_PART, view.rows - first) },
      (_, index) => first + index,
    );
    yield rows.map((row) => line(columns.map(([, cell]) => cell(row)))).join("");
  }
}

/** A text as a cell that is shown as it is, and never computed. */
export function textCell(text: string): string {
  const shown = uncomputed(text);
  return shown !== text || /[",\r\n]/.test(text) ? `"${shown.replaceAll('"', '""')}"` : text;
}

function csvColumns(view: View): readonly CsvColumn[] {
  const { depth, parent, accounted, definitions, hidden, node } = view;
  const { nodes } = view.profile;
  const ofNode = (names: readonly string[], index: Int32Array) => (row: number) =>
    textCell(names[index[node[row] as number] ?? -1] ?? "");
  return [
    ["name", (row) => textCell(view.name(row))],
    ["depth", (row) => String(depth[row])],
    ["parent", (row) => String(parent[row])],
    ["op", view.kind === "op" ? (row) => textCell(view.name(row)) : ofNode(nodes.ops, nodes.op)],
    ["device", ofNode(nodes.devices, nodes.device)],
    ["accounted", (row) => (accounted[row] ? "True" : "False")],
    ...MEASURES.flatMap((measure): CsvColumn[] => {
      const [own, total, unit] = [view.own(measure), view.total(measure), view.unit(measure)];
      return [
        [measure, (row) => String((own[row] as number) / unit)],
        [`total_${measure}`, (row) => String((total[row] as number) / unit)],
      ];
    }),
    ["definitions", (row) => String(definitions[row])],
    ["hidden_ops", (row) => String(hidden[row])],
  ];
}

function line(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}

// Sharp on the screens that slides are shown on.
const SCALE = 2;
const MAIN = "costs";

/** How the charts are called, the main one first and always. */
export function chartNames(
  drawings: ReadonlyMap<string, unknown>,
): readonly { label: string; name: string }[] {
  const others = [...drawings.keys()].filter((name) => name !== MAIN);
  return [{ label: "Chart", name: MAIN }, ...others.map((name) => ({ label: `Chart of ${name}`, name }))];
}

/** A chart as SVG. */
export async function svg(drawing: Drawing, surface: string): Promise<Blob> {
  // Controls are no XML, even as numbers.
  return new Blob([visibleLines(await drawing.toSvg(surface))], { type: "image/svg+xml" });
}

/** A chart as PNG. */
export async function png(drawing: Drawing, surface: string): Promise<Blob> {
  const address = await drawing.toPng(surface, SCALE);
  // The picture is in the address itself; a saved page may not fetch even that.
  const bytes = fromBase64(address.slice(address.indexOf(",") + 1));
  return new Blob([bytes as BlobPart], { type: "image/png" });
}

// Long enough for a browser to have taken the file over.
const REVOKED_AFTER_MILLISECONDS = 60_000;

/** Collect what is written part by part, and let the page breathe in between; `told` hears how many there were. */
export async function collected(
  parts: Iterable<string>,
  type: string,
  told?: (count: number) => void,
): Promise<Blob> {
  const written: Blob[] = [];
  for (const part of parts) {
    // The browser may keep blobs on disk, and strings only in memory.
    written.push(new Blob([part]));
    told?.(written.length);
    await new Promise((resume) => setTimeout(resume));
  }
  return new Blob(written, { type });
}

/** Save a file under a name. */
export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKED_AFTER_MILLISECONDS);
}

const LONGEST = 80;
const FALLBACK = "tfprof";
// What some system takes for a part of a path or for a command, and what is not seen or turns the text around.
const UNFIT = /[\p{C}\p{Zl}\p{Zp}<>:"/\\|?*]+/gu;
// Names of devices on Windows, whatever their extension.
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/** A file name out of a title, what the file shows, and what kind of file it is. */
export function fileName(title: string, shown: string, extension: string): string {
  const ending = `${shown ? `-${cleaned(shown)}` : ""}.${extension}`;
  const start = cleaned(title).replace(DEVICE, "_$1") || FALLBACK;
  return cut(start, LONGEST - ending.length).trimEnd() + ending;
}

function cleaned(text: string): string {
  return text
    .replace(UNFIT, " ")
    .replace(/\s+/g, " ")
    .replace(/^[. ~-]+|[. ]+$/g, "");
}

/** The first characters, none of them in half. */
function cut(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
}
