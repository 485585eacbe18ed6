// The Python frames behind the names of the code view: their files, their source lines, and whose code they are.

import { cacheOf } from "../data/memory.ts";
import type { Profile, Traces } from "../data/profile.ts";
import { frameName } from "../engine/code.ts";

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
const INSTALLED = /(?:^|\/)(?:site|dist)-packages\/([^/]+)/;
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
export function framesOf(profile: Profile): readonly PythonFrame[] {
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

/** The stack in which a node was created, outermost frame first; empty where it is not known. */
export function stackOf(profile: Profile, node: number): readonly PythonFrame[] {
  const { stack, stacks } = profile.traces;
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
