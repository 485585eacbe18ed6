// Files to hand over: the rows as CSV or Markdown, the timeline as a trace, their names, and the clipboard.

import { cutInTheMiddle } from "../analysis/chart_content.ts";
import { type Lane, laneLabel, type Track } from "../analysis/lanes.ts";
import { peakRate } from "../analysis/roofline.ts";
import { laidDeviceLabel, layoutOf, slicesOf } from "../analysis/timeline_layout.ts";
import type { Profile } from "../data/profile.ts";
import { PASSES } from "../data/protocol.ts";
import { layerTypes } from "../engine/layers.ts";
import { isMeasure, isPass, MEASURES, type Measure, type Summed } from "../engine/measures.ts";
import { ROOT_NAME } from "../engine/tree.ts";
import type { View } from "../engine/view.ts";
import { short, uncomputed, visible } from "../lib/format.ts";

type CsvColumn = readonly [name: string, cell: (row: number) => string];

const ROWS_A_PART = 2000;

/** The lines of a view, some at a time. */
export function* csvParts(view: View): Generator<string> {
  const isLayers = view.kind === "layers";
  const columns = isLayers ? layerColumns(view) : csvColumns(view);
  yield line(columns.map(([name]) => name));
  // In the layers view the root is no row.
  for (let first = Number(isLayers); first < view.rows; first += ROWS_A_PART) {
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
    ...MEASURES.flatMap((measure) => [ownOf(view, measure), totalOf(view, measure)]),
    ["definitions", (row) => String(definitions[row])],
    ["hidden_ops", (row) => String(hidden[row])],
  ];
}

/** The columns of the layers view, as tfprof_widget/output/tabular.py has them. */
function layerColumns(view: View): readonly CsvColumn[] {
  const measures = [...PASSES, "micros", "params", "float_ops", "bytes", "runs"] as const;
  const [types, own] = [layerTypes(view), view.own("micros")];
  const whole = Math.max(
    own.reduce((sum, each) => sum + each, 0),
    1,
  );
  const columns = measures.map((measure) => ownOf(view, measure));
  columns.splice(PASSES.length + 1, 0, ["share", (row) => String((own[row] as number) / whole)]);
  return [
    ["name", (row) => textCell(view.name(row))],
    ["type", (row) => textCell(types[row] ?? "")],
    ...columns,
    ...rateColumns(view, (measure) => view.own(measure)),
    ["depth", (row) => String(view.depth[row])],
    ["parent", (row) => String((view.parent[row] as number) - 1)],
    ...measures.map((measure) => totalOf(view, measure)),
    ...rateColumns(view, (measure) => view.total(measure)).map(
      ([name, cell]): CsvColumn => [`total_${name}`, cell],
    ),
  ];
}

/** How fast rows compute, and as a part of the most that their machine can; empty where that is not known. */
function rateColumns(view: View, sums: (measure: Summed) => Float64Array): readonly CsvColumn[] {
  const [floatOps, micros, peak] = [sums("float_ops"), sums("micros"), peakRate(view.profile)];
  const rate = (row: number): number => {
    const seconds = (micros[row] as number) / (1e6 * view.unit("micros"));
    return seconds > 0 ? (floatOps[row] as number) / view.unit("float_ops") / seconds : 0;
  };
  const cell =
    (scale: number) =>
    (row: number): string =>
      scale && rate(row) > 0 ? String(rate(row) / scale) : "";
  return [
    ["gflops", cell(1e9)],
    ["of_peak", cell(peak)],
  ];
}

function ownOf(view: View, measure: Summed): CsvColumn {
  const [values, unit] = [view.own(measure), view.unit(measure)];
  return [
    measure === "params" && view.kind === "layers" ? "parameters" : measure,
    (row) => String((values[row] as number) / unit),
  ];
}

function totalOf(view: View, measure: Summed): CsvColumn {
  const [values, unit] = [view.total(measure), view.unit(measure)];
  return [`total_${ownOf(view, measure)[0]}`, (row) => String((values[row] as number) / unit)];
}

function line(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}

// As in tfprof_widget/output/tabular.py: pandoc takes the dashes for the widths of columns, and LaTeX breaks no name.
const MOST_ROWS = 100;
const MOST_LETTERS = 44;
const DASHES = { name: `:${"-".repeat(36)}`, number: `${"-".repeat(15)}:` };
const SPECIAL = /[\\`*_{}[\]()<>#+!|~$&^-]|:(?=\/\/)|\bw(?=ww\.)/g;

/** The first rows of a view as a Markdown table: own value and total of the main measure, and one of others. */
export function markdownTable(view: View): string {
  const [first, ...rest] = shownMeasures(view);
  const passes = view.kind === "layers" && [first, ...rest].includes("micros") ? PASSES : [];
  const measures: readonly Summed[] = first ? [first, ...passes, ...rest] : [];
  const isOp = view.kind === "op";
  const [main, ...others] = measures.map(headingOf);
  const heads =
    main === undefined ? [] : [`own ${main}`, `${isOp ? "cumulative" : "total"} ${main}`, ...others];
  const rows = Array.from({ length: Math.min(view.rows, MOST_ROWS) }, (_, row) => [
    markdownName(view, row),
    ...measures.flatMap((measure, place) => {
      const [own, total] = [view.own(measure), view.total(measure)];
      const columns = place === 0 ? [own, total] : [isOp ? own : total];
      return columns.map((column) => valueIn(view, measure, row)(column).replace(" ", "&nbsp;"));
    }),
  ]);
  const lines = [["name", ...heads], [DASHES.name, ...heads.map(() => DASHES.number)], ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

function headingOf(measure: Summed): string {
  if (isPass(measure)) return measure.replace("_micros", "");
  const names: Readonly<Record<string, string>> = { micros: "time", bytes: "memory" };
  return names[measure] ?? measure.replaceAll("_", " ");
}

/** Writes a row's value of a column; a dash for nothing. */
export function valueIn(view: View, measure: Summed, row: number): (column: Float64Array) => string {
  return (column) => (column[row] ? short(measure, (column[row] as number) / view.unit(measure)) : "–");
}

function markdownName(view: View, row: number): string {
  const name = cutInTheMiddle(shownPart(view, row), MOST_LETTERS);
  const indent = "&nbsp;".repeat(3 * Math.min(view.depth[row] as number, 24));
  return indent + visible(name).replace(SPECIAL, harmless);
}

/** The character, escaped: as a numeric entity where math or a link is found even behind a backslash. */
function harmless(character: string): string {
  return "\\$:w".includes(character) ? `&#${character.charCodeAt(0)};` : `\\${character}`;
}

/** A row's name; in scope view its last part, for what is above it says the others. */
export function shownPart(view: View, row: number): string {
  const name = view.name(row);
  if (name === ROOT_NAME) return "all";
  const above = view.parent[row] as number;
  const scope = view.kind === "scope" && above > 0 ? `${view.name(above)}/` : "";
  return name.startsWith(scope) ? name.slice(scope.length) : name;
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

/** Put contents on the clipboard, by their types; those that a browser does not take are left out. */
export async function copy(contents: Readonly<Record<string, () => Promise<Blob>>>): Promise<void> {
  // A promise each: what is made later is still what the click asked for.
  const taken = Object.entries(contents).filter(([type]) => isCopied(type));
  await navigator.clipboard.write([
    new ClipboardItem(Object.fromEntries(taken.map(([type, make]) => [type, make()]))),
  ]);
}

function isCopied(type: string): boolean {
  return type === "text/plain" || type === "image/png" || (ClipboardItem.supports?.(type) ?? false);
}

/** Why nothing can be copied here; undefined where it can. */
export function whyNoClipboard(): string | undefined {
  if (typeof ClipboardItem !== "undefined" && navigator.clipboard) return undefined;
  return "browsers allow copying only on pages of https or of this computer";
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

/** The rows with the largest values of the main measure, in their order; those of a tree with the rows above them. */
export function costliestRows(view: View, most: number): readonly number[] {
  const measure = mainMeasure(view);
  const rows = Array.from({ length: view.rows }, (_, row) => row);
  if (!measure) return rows.slice(0, most);
  const values = view.kind === "op" ? view.own(measure) : view.total(measure);
  const chosen = new Set<number>();
  // Of equal values the first row comes first, which is above the others.
  for (const row of rows.sort((one, other) => (values[other] as number) - (values[one] as number))) {
    if (chosen.size === most || !((values[row] as number) > 0)) break;
    const above = view.parent[row] as number;
    if (above < 0 || chosen.has(above)) chosen.add(row);
  }
  return [...chosen].sort((one, other) => one - other);
}

/** The measure that rows are ordered by if it has values, else the first selected that has some. */
function mainMeasure(view: View): Measure | undefined {
  const ordered = view.options.orderBy;
  const first = isMeasure(ordered) ? [ordered] : [];
  return [...first, ...shownMeasures(view)].find((each) => view.grandTotal(each));
}

/** The selected measures that have any values, the one that rows are ordered by first. */
export function shownMeasures(view: View): readonly Measure[] {
  const { select, orderBy } = view.options;
  const selected = select.map((column) => (column === "occurrence" ? "runs" : column));
  const found = selected.filter((each): each is Measure => isMeasure(each) && view.grandTotal(each) > 0);
  return [...new Set(found)].sort((one, other) => Number(one !== orderBy) - Number(other !== orderBy));
}

const EVENTS_A_PART = 5000;
const NANOS_A_MICRO = 1000;
const ABOUT = "The steps follow one another with a gap between them; how far apart they ran is not recorded.";

/** The trace of all steps as JSON, some events at a time. */
export function* chromeTraceParts(profile: Profile): Generator<string> {
  const { tracks } = layoutOf(
    profile,
    profile.steps.map((_, step) => step),
  );
  yield `{"displayTimeUnit":"ns","otherData":${JSON.stringify({ steps: ABOUT })},"traceEvents":[\n`;
  const slices = slicesOf(profile);
  const labels = tracks.flatMap((track) => [
    label("process_name", track.device, 0, laidDeviceLabel(slices, track.device, profile.nodes.devices)),
    ...track.lanes.map((lane, thread) => label("thread_name", track.device, thread, laneLabel(track, lane))),
  ]);
  yield labels.join(",\n");
  for (const track of tracks) {
    for (const [thread, lane] of track.lanes.entries()) yield* laneParts(profile, track, lane, thread);
  }
  yield "\n]}\n";
}

function* laneParts(profile: Profile, track: Track, lane: Lane, thread: number): Generator<string> {
  const event = eventsOf(profile, track.device, thread);
  for (let first = 0; first < lane.execution.length; first += EVENTS_A_PART) {
    let part = "";
    const end = Math.min(first + EVENTS_A_PART, lane.execution.length);
    for (let slice = first; slice < end; slice++) {
      part += `,\n${event(lane.execution[slice] as number, lane.start[slice] as number)}`;
    }
    yield part;
  }
}

// Viewers take process and thread 0 for the kernel's.
const FIRST_NUMBER = 1;

/** Writes an execution or a transfer that starts at some nanosecond. */
function eventsOf(profile: Profile, device: number, thread: number) {
  const { node, step, durationNanos, firstTransfer } = slicesOf(profile);
  return (row: number, start: number): string => {
    const { name, cat, args } =
      row < firstTransfer ? executed(profile, node[row] as number) : moved(profile, row - firstTransfer);
    return JSON.stringify({
      name,
      cat,
      ph: "X",
      pid: device + FIRST_NUMBER,
      tid: thread + FIRST_NUMBER,
      ts: start / NANOS_A_MICRO,
      dur: (durationNanos[row] as number) / NANOS_A_MICRO,
      args: { ...args, step: profile.steps[step[row] as number] },
    });
  };
}

function executed({ nodes }: Profile, node: number) {
  const op = nodes.ops[nodes.op[node] as number];
  return { name: nodes.names[node], cat: op, args: { op } };
}

function moved({ transfers }: Profile, transfer: number) {
  const { devices, tensors, kinds } = transfers;
  return {
    name: tensors[transfers.tensor[transfer] as number],
    cat: kinds[transfers.kind[transfer] as number],
    args: {
      from: devices[transfers.source[transfer] as number],
      to: devices[transfers.target[transfer] as number],
      bytes: transfers.bytes[transfer],
    },
  };
}

function label(what: string, device: number, thread: number, name: string): string {
  return JSON.stringify({
    name: what,
    ph: "M",
    pid: device + FIRST_NUMBER,
    tid: thread + FIRST_NUMBER,
    args: { name },
  });
}
