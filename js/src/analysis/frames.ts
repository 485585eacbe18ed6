// Python frames behind the names of the code view: file, line, source and library; runs of library frames as one row.

import { cacheOf, type Profile, type Traces } from "../data/profile.ts";
import { forwardName, frameName, inSteps } from "../engine/code.ts";
import type { Flags, Indices, Numbers } from "../engine/columns.ts";
import type { Measure } from "../engine/measures.ts";
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
// The standard library, and what is frozen into the interpreter.
const PYTHON = /\/lib\/python[\d.]*\/|^<frozen /;

/** The library that a file belongs to, empty for the user's own. */
export function libraryOf(file: string): string {
  const path = file.replaceAll("\\", "/");
  const found = (INSTALLED.exec(path) ?? KNOWN.exec(path))?.[1];
  return found?.replace(/\.py$/, "") ?? (PYTHON.test(path) ? "python" : "");
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

/** The frame of a line of a file; undefined where no op was made there. */
export function frameAt(profile: Profile, file: string, line: number): PythonFrame | undefined {
  return framesOf(profile).find((frame) => frame.line === line && frame.file === file);
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
