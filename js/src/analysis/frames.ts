// Python frames behind the names of the code view: file, line, source and library; what each line of the user's own cost.

import { cellOf, sampledLines } from "../data/cell.ts";
import { cacheOf, type Profile, type Traces } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import { rowWeights } from "../engine/account.ts";
import { forwardName, frameName, inSteps } from "../engine/code.ts";
import type { Flags, Indices, Numbers } from "../engine/columns.ts";
import { layerColumns, ROLES } from "../engine/layers.ts";
import { type Measure, measures } from "../engine/measures.ts";
import { chosenSteps } from "../engine/steps.ts";
import type { Tree } from "../engine/tree.ts";
import type { View } from "../engine/view.ts";

/** A frame of a stack. */
export interface PythonFrame {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly function: string;
  readonly source: string;
  /** Of a library's frame the library, empty for the user's own code. */
  readonly library: string;
}

const GRADIENT = " (gradient)";
// What the op log says where the source is not at hand.
const NO_SOURCE = "none";
const INSTALLED = /(?:^|\/)(?:site|dist)-packages\/+([^/]+)/;
// Also where they are worked on and not installed.
const KNOWN = /(?:^|\/)(tensorflow|keras|tf_keras|tfprof_widget)\//;
// What AutoGraph writes of the user's functions.
const GENERATED = /(?:^|\/)__autograph_generated_file/;
// The standard library, and what is frozen into the interpreter.
const PYTHON = /\/lib\/python[\d.]*\/|^<frozen /;

/** The library that a file belongs to, empty for the user's own. */
export function libraryOf(file: string): string {
  const path = file.replaceAll("\\", "/");
  const found = (INSTALLED.exec(path) ?? KNOWN.exec(path))?.[1];
  if (found) return found.replace(/\.py$/, "");
  return PYTHON.test(path) ? "python" : GENERATED.test(path) ? "tensorflow" : "";
}

/** All frames of a profile, as its traces number them. */
function framesOf(profile: Profile): readonly PythonFrame[] {
  return cacheOf(profile).kept("frames", () => {
    const { traces } = profile;
    return Array.from(traces.file, (_, index) => pythonFrame(traces, index));
  });
}

/** The frame of a row of the code view; frames of one name are told apart by nothing that is shown. */
export function frameNamed(profile: Profile, name: string): PythonFrame | undefined {
  const named = cacheOf(profile).kept(
    "frames by name",
    () => new Map(framesOf(profile).map((frame) => [frame.name, frame])),
  );
  return named.get(name.endsWith(GRADIENT) ? name.slice(0, -GRADIENT.length) : name);
}

/** The line of source of a row of a code view, empty where it is not known. */
export function sourceOf(view: View, row: number): string {
  return frameNamed(view.profile, view.name(row))?.source ?? "";
}

/** The stack in which a node of some steps was created, outermost frame first; empty where it is not known. */
export function stackOf(profile: Profile, node: number, steps: readonly number[]): readonly PythonFrame[] {
  const { stack, stacks } = inSteps(profile, steps).traces;
  const index = stack[node] ?? -1;
  if (index < 0) return [];
  const frames = framesOf(profile);
  return Array.from(
    stacks.values.subarray(stacks.start[index], stacks.start[index + 1]),
    (each) => frames[each] as PythonFrame,
  );
}

/** The frame in the user's own code that is closest to the node, or the innermost if all are a library's. */
export function ownFrame(stack: readonly PythonFrame[]): PythonFrame | undefined {
  return stack.findLast(({ library }) => !library) ?? stack.at(-1);
}

/** The node that a gradient belongs to in some steps, -1 where it is no gradient or that node's line is not known. */
export function forwardOf(profile: Profile, node: number, steps: readonly number[]): number {
  const { names } = profile.nodes;
  const traces = inSteps(profile, steps).traces;
  const told = traces.forward[node] ?? -1;
  const name = told < 0 ? forwardName(names[node] ?? "") : undefined;
  const forward = name === undefined ? told : names.indexOf(name);
  return (traces.stack[forward] ?? -1) < 0 ? -1 : forward;
}

/** The line of the user's code that a node is there for: that of a gradient is the line of what it is the gradient of. */
export function ownLine(profile: Profile, node: number, steps: readonly number[]): PythonFrame | undefined {
  const forward = forwardOf(profile, node, steps);
  return ownFrame(stackOf(profile, forward < 0 ? node : forward, steps));
}

function pythonFrame(traces: Traces, index: number): PythonFrame {
  const text = (strings: Int32Array): string => traces.strings[strings[index] as number] ?? "";
  const file = text(traces.file);
  const line = traces.line[index] as number;
  const name = text(traces.function);
  const source = text(traces.source).trim();
  return {
    name: frameName(file, line, name),
    file,
    line,
    function: name,
    source: source === NO_SOURCE ? "" : source,
    library: libraryOf(file),
  };
}

/** Rows that stand for all library frames that hang together below them. */
export interface Regions {
  /** The rows that another one stands for. */
  readonly merged: Flags;
  /** For how many frames each row stands. */
  readonly frames: Indices;
  /** Whose frames they are, empty for a row of the user's own. */
  label(row: number): string;
  /** What the frames of a row cost themselves. */
  own(measure: Measure): Numbers;
}

const libraries = new WeakMap<Tree, readonly string[]>();

/** The regions of a code view. */
export function regionsOf(view: View): Regions {
  const ofPlace = librariesOf(view);
  const library = (row: number): string => ofPlace[view.places[row] as number] as string;
  const merged = new Uint8Array(view.rows);
  const top = new Int32Array(view.rows);
  const frames = new Int32Array(view.rows);
  for (let row = 0; row < merged.length; row++) {
    const up = view.parent[row] as number;
    const joins = up >= 0 && library(row) !== "" && library(up) !== "";
    merged[row] = joins ? 1 : 0;
    top[row] = joins ? (top[up] as number) : row;
    frames[top[row] as number] = (frames[top[row] as number] as number) + 1;
  }
  return {
    merged,
    frames,
    label: (row) => labelOf(library, top, frames, row),
    own: (measure) => ownOf(view.own(measure), merged, top),
  };
}

function librariesOf({ profile, forest: { tree } }: View): readonly string[] {
  const found = libraries.get(tree) ?? tree.names.map((name) => frameNamed(profile, name)?.library ?? "");
  libraries.set(tree, found);
  return found;
}

function labelOf(library: (row: number) => string, top: Indices, frames: Indices, row: number): string {
  if (!library(row)) return "";
  const names = new Set<string>();
  for (let each = row, left = frames[row] as number; left > 0; each++) {
    if (top[each] !== row) continue;
    names.add(library(each));
    left--;
  }
  return [...names].join(", ");
}

function ownOf(own: Numbers, merged: Flags, top: Indices): Numbers {
  const sums = own.slice();
  for (let row = 0; row < sums.length; row++) {
    if (merged[row]) sums[top[row] as number] = (sums[top[row] as number] as number) + (own[row] as number);
  }
  return sums;
}

/** A line of the user's own code with all that it calls: ops and bytes are those of a step, Python is that of the cell. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
  readonly source: string;
  /** The rows of the code view that it is, those of gradients as well, and what they would be called where only Python was sampled. */
  readonly names: readonly string[];
  /** Op time in microseconds: of what it made, but for gradients and updates; the gradients of what it made are here too. */
  readonly forward: number;
  readonly gradient: number;
  readonly update: number;
  readonly bytes: number;
  /** Sampled nanoseconds in which no run went on, Python waited for input, and functions were built. */
  readonly python: number;
  readonly input: number;
  readonly tracing: number;
}

type Writable<Line> = { -readonly [Name in keyof Line]: Line[Name] };

/** The user's own lines that made ops or were sampled, by file, the file that took the most time first. */
export function sourceLines(whole: Profile, options: Options): readonly SourceLine[] {
  const { step, runNameRegexes, workerRegexes, acrossWorkers, timing, accountTypeRegexes } = options;
  const key = [step, runNameRegexes, workerRegexes, acrossWorkers, timing, accountTypeRegexes];
  return cacheOf(whole).recent(`source lines ${JSON.stringify(key)}`, () => {
    const lines = new Map<string, Writable<SourceLine>>();
    addOps(lines, whole, options);
    addSampled(lines, whole);
    const ofFile = new Map<string, number>();
    for (const { file, forward, gradient, update, python } of lines.values()) {
      const micros = forward + gradient + update + python / 1000;
      ofFile.set(file, Math.max(ofFile.get(file) ?? 0, micros));
    }
    const size = ({ file }: SourceLine): number => ofFile.get(file) as number;
    return [...lines.values()].sort(
      (one, other) =>
        size(other) - size(one) ||
        Number(one.file > other.file) - Number(one.file < other.file) ||
        one.line - other.line,
    );
  });
}

/** The rows of the code view that a line is; none where it made no op and was not sampled. */
export function namesOfLine(
  profile: Profile,
  { file, line }: Pick<SourceLine, "file" | "line">,
  options: Options,
): readonly string[] {
  return sourceLines(profile, options).find((each) => each.line === line && each.file === file)?.names ?? [];
}

function lineKey({ file, line }: { readonly file: string; readonly line: number }): string {
  return `${file}:${line}`;
}

function lineAt(
  lines: Map<string, Writable<SourceLine>>,
  { file, line, source }: Pick<SourceLine, "file" | "line" | "source">,
): Writable<SourceLine> {
  const key = lineKey({ file, line });
  const fresh = { names: [], forward: 0, gradient: 0, update: 0, bytes: 0, python: 0, input: 0, tracing: 0 };
  const found = lines.get(key) ?? { file, line, source, ...fresh };
  found.source ||= source;
  lines.set(key, found);
  return found;
}

/** What the nodes below a stack cost. */
interface StackCost {
  readonly forward: number;
  readonly gradient: number;
  readonly update: number;
  readonly bytes: number;
  /** How the code view ends the names of its frames: with nothing, as gradients, or both. */
  readonly endings: Set<string>;
}

/** Add to each own line of a stack, once however often it is there, what the nodes below the stack cost. */
function addOps(lines: Map<string, Writable<SourceLine>>, whole: Profile, options: Options): void {
  const profile = inSteps(whole, chosenSteps(whole, options));
  const frames = framesOf(profile);
  const { stacks } = profile.traces;
  stackCosts(whole, profile, options).forEach((cost, each) => {
    const met = new Set<SourceLine>();
    for (const index of stacks.values.subarray(stacks.start[each], stacks.start[each + 1])) {
      const frame = frames[index] as PythonFrame;
      if (frame.library) continue;
      const line = lineAt(lines, frame);
      const names = Array.from(cost.endings, (ending) => frame.name + ending);
      line.names = [...new Set([...line.names, ...names])];
      if (met.has(line)) continue;
      met.add(line);
      for (const column of ["forward", "gradient", "update", "bytes"] as const) line[column] += cost[column];
    }
  });
}

/** By stack what the code view counts below it; passes are told apart as in the layers view. */
function stackCosts(whole: Profile, profile: Profile, options: Options): ReadonlyMap<number, StackCost> {
  const { stack, isGradient } = countedBelow(profile);
  const { role } = layerColumns(whole);
  const weights = rowWeights(profile, options);
  const found = measures(profile, options);
  const [micros, bytes] = [found.column("micros"), found.column("bytes")];
  const costs = new Map<number, Writable<StackCost>>();
  stack.forEach((each, node) => {
    const weight = weights[node] as number;
    if (each < 0 || !weight) return;
    const fresh = { forward: 0, gradient: 0, update: 0, bytes: 0, endings: new Set<string>() };
    const cost = costs.get(each) ?? fresh;
    costs.set(each, cost);
    const pass = isGradient[node] ? "backward" : ROLES[role[node] as number];
    const column = pass === "backward" ? "gradient" : pass === "update" ? "update" : "forward";
    cost[column] += (weight * (micros[node] as number)) / found.unit("micros");
    cost.bytes += (weight * (bytes[node] as number)) / found.unit("bytes");
    cost.endings.add(isGradient[node] ? GRADIENT : "");
  });
  return costs;
}

function addSampled(lines: Map<string, Writable<SourceLine>>, profile: Profile): void {
  const cells = cellOf(profile);
  if (!cells) return;
  const { strings, file, line, function: of, source } = cells.frames;
  const told = new Map<string, readonly PythonFrame[]>();
  file.forEach((each, frame) => {
    const place = { file: strings[each] as string, line: line[frame] as number };
    const name = strings[of[frame] as number] as string;
    const text = (strings[source[frame] as number] ?? "").trim();
    const key = lineKey(place);
    told.set(key, [
      ...(told.get(key) ?? []),
      { ...place, function: name, source: text, name: frameName(place.file, place.line, name), library: "" },
    ]);
  });
  for (const sampled of sampledLines(cells)) {
    const frames = told.get(lineKey(sampled)) ?? [];
    const found = lineAt(lines, { ...sampled, source: frames[0]?.source ?? "" });
    found.names = [...new Set([...found.names, ...frames.map(({ name }) => name)])];
    for (const column of ["python", "input", "tracing"] as const) found[column] += sampled[column];
  }
}

/** Below which stack the code view counts each node, -1 for none, and whether it does as a gradient. */
interface CountedBelow {
  readonly stack: Int32Array;
  readonly isGradient: Uint8Array;
}

function countedBelow(profile: Profile): CountedBelow {
  return cacheOf(profile).kept("counted below", () => {
    const { nodes, traces } = profile;
    const forward = nodes.names.map((name, node) => {
      const told = traces.forward[node] ?? -1;
      return told < 0 ? forwardName(name) : told === node ? undefined : nodes.names[told];
    });
    const stackNamed = new Map<string, number>();
    nodes.names.forEach((name, node) => {
      if (forward[node] === undefined) stackNamed.set(name, traces.stack[node] ?? -1);
    });
    return {
      stack: Int32Array.from(nodes.names, (name, node) =>
        (traces.stack[node] ?? -1) < 0 ? -1 : (stackNamed.get(forward[node] ?? name) ?? -1),
      ),
      isGradient: Uint8Array.from(forward, (name) => (name === undefined ? 0 : 1)),
    };
  });
}

/** Whether flagged nodes of some steps were made by a line itself and not by one that it calls. */
export function makersOf(
  whole: Profile,
  steps: readonly number[],
  flags: Flags,
): (line: Pick<SourceLine, "file" | "line">) => boolean {
  const profile = inSteps(whole, steps);
  const { stack } = countedBelow(profile);
  const { stacks } = profile.traces;
  const frames = framesOf(profile);
  const found = new Set<string>();
  for (const each of new Set(stack.filter((of, node) => of >= 0 && flags[node]))) {
    const own = Array.from(
      stacks.values.subarray(stacks.start[each], stacks.start[each + 1]),
      (index) => frames[index] as PythonFrame,
    ).findLast(({ library }) => !library);
    if (own) found.add(lineKey(own));
  }
  return (line) => found.has(lineKey(line));
}
