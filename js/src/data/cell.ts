// What went on in the captured cells, from their start to their end: runs, phases of Keras' loops, and sampled Python.

import { cacheOf, type Profile } from "./profile.ts";
import { damaged } from "./wire.ts";

/** Bits of the mark of a run: the first of its kind, recorded, ended in an exception, recorded in part. */
export const MARKS = { first: 1, recorded: 2, raised: 4, partly: 8 } as const;

/** The captured cells; all times are in nanoseconds since the cell was entered. */
export interface CapturedCells {
  /** The names of the parts of a cell. */
  readonly parts: readonly string[];
  /** The process of each cell, empty for the only one. */
  readonly workers: readonly string[];
  readonly nanos: Float64Array;
  /** By step of the profile: its cell or -1, and when its first start was, or -1. */
  readonly stepCell: Int32Array;
  readonly stepStart: Float64Array;
  readonly runs: RunRows;
  readonly phases: PhaseRows;
  readonly frames: FrameRows;
  readonly calls: CallRows;
  readonly looks: LookRows;
}

/** A row a run, or `count` runs one after the other, which took `nanos` of the time from `start` to `end`. */
interface RunRows {
  readonly kinds: readonly string[];
  readonly cell: Int32Array;
  readonly kind: Int32Array;
  readonly count: Int32Array;
  readonly mark: Int32Array;
  /** The place of the step that has the ops of the run, or -1. */
  readonly step: Int32Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly nanos: Float64Array;
}

/** A row a stretch of time in which a loop of Keras was in one phase; they do not overlap. */
interface PhaseRows {
  readonly names: readonly string[];
  readonly cell: Int32Array;
  readonly name: Int32Array;
  readonly start: Float64Array;
  readonly nanos: Float64Array;
}

/** A row a line of code with its function; `source` is -1 for a line of a library. */
interface FrameRows {
  readonly strings: readonly string[];
  readonly file: Int32Array;
  readonly line: Int32Array;
  readonly function: Int32Array;
  readonly source: Int32Array;
}

/**
 * A row a sampled call, after the one that it is below; `above` is -1 for an outermost one. The times are those in which
 * the call was the innermost one while no run went on, while Python waited for input, and while it built functions.
 */
interface CallRows {
  readonly above: Int32Array;
  readonly frame: Int32Array;
  readonly looks: Int32Array;
  readonly python: Float64Array;
  readonly input: Float64Array;
  readonly tracing: Float64Array;
}

/** A row a stretch of time in which the sampler saw one stack; `call` is its innermost call, or -1. */
interface LookRows {
  readonly cell: Int32Array;
  readonly call: Int32Array;
  readonly part: Int32Array;
  readonly start: Float64Array;
  readonly nanos: Float64Array;
}

/** The captured cells of a profile, read when first asked for; undefined where none was captured. */
export function cellOf(profile: Profile): CapturedCells | undefined {
  return cacheOf(profile).kept("captured cells", () => read(profile));
}

function read({ late, steps }: Profile): CapturedCells | undefined {
  if (!late?.("cells.workers", "texts", true)) return undefined;
  const texts = (name: string) => late(name, "texts") as readonly string[];
  const sizes: Record<string, number> = {};
  const checked = <Column extends Int32Array | Float64Array>(name: string, column: Column): Column => {
    const table = name.startsWith("cells.step_") ? "steps" : (name.split(".")[0] as string);
    sizes[table] ??= table === "steps" ? steps.length : column.length;
    if (column.length !== sizes[table])
      throw damaged(`${name} has ${column.length} entries, not ${sizes[table]}`);
    return column;
  };
  const numbers = (name: string) => {
    const column = checked(name, late(name, "numbers") as Float64Array);
    if (!column.every(Number.isFinite)) throw damaged(`${name} has a number without measure`);
    return column;
  };
  const indices = (name: string, size = Number.POSITIVE_INFINITY, least = 0) => {
    const column = checked(name, late(name, "indices") as Int32Array);
    const wrong = column.find((each) => each < least || each >= size);
    if (wrong !== undefined) throw damaged(`${name} has the index ${wrong}, of ${size}`);
    return column;
  };
  const [workers, parts, kinds, names, strings] = [
    "cells.workers",
    "cells.parts",
    "runs.kinds",
    "phases.names",
    "frames.strings",
  ].map(texts) as [string[], string[], string[], string[], string[]];
  const cells = workers.length;
  const frames = {
    strings,
    file: indices("frames.file", strings.length),
    line: indices("frames.line"),
    function: indices("frames.function", strings.length),
    source: indices("frames.source", strings.length, -1),
  };
  const calls = {
    above: indices("calls.above", Number.POSITIVE_INFINITY, -1),
    frame: indices("calls.frame", frames.file.length),
    looks: indices("calls.looks"),
    python: numbers("calls.python"),
    input: numbers("calls.input"),
    tracing: numbers("calls.tracing"),
  };
  if (calls.above.some((above, call) => above >= call)) throw damaged("calls.above has a call above itself");
  const nanos = numbers("cells.nanos");
  if (nanos.length !== cells) throw damaged(`cells.nanos has ${nanos.length} entries, not ${cells}`);
  return {
    parts,
    workers,
    nanos,
    stepCell: indices("cells.step_cell", cells, -1),
    stepStart: numbers("cells.step_start"),
    runs: {
      kinds,
      cell: indices("runs.cell", cells),
      kind: indices("runs.kind", kinds.length),
      count: indices("runs.count"),
      mark: indices("runs.mark"),
      step: indices("runs.step", steps.length, -1),
      start: numbers("runs.start"),
      end: numbers("runs.end"),
      nanos: numbers("runs.nanos"),
    },
    phases: {
      names,
      cell: indices("phases.cell", cells),
      name: indices("phases.name", names.length),
      start: numbers("phases.start"),
      nanos: numbers("phases.nanos"),
    },
    frames,
    calls,
    looks: {
      cell: indices("looks.cell", cells),
      call: indices("looks.call", calls.frame.length, -1),
      part: indices("looks.part", parts.length),
      start: numbers("looks.start"),
      nanos: numbers("looks.nanos"),
    },
  };
}

/** The time and looks of a line of the user's own code, by the sampler, while no run went on; a frame once a stack. */
export interface SampledLine {
  readonly file: string;
  readonly line: number;
  readonly python: number;
  readonly input: number;
  readonly tracing: number;
  readonly looks: number;
}

/** The sampled time of each line of the user's own code, with all that the line calls. */
export function sampledLines({ frames, calls }: CapturedCells): SampledLine[] {
  const found = new Map<string, { -readonly [Name in keyof SampledLine]: SampledLine[Name] }>();
  calls.frame.forEach((_, call) => {
    const met = new Set<string>();
    for (let each = call; each >= 0; each = calls.above[each] as number) {
      const frame = calls.frame[each] as number;
      if ((frames.source[frame] as number) < 0) continue;
      const file = frames.strings[frames.file[frame] as number] as string;
      const line = frames.line[frame] as number;
      const key = `${file}:${line}`;
      if (met.has(key)) continue;
      met.add(key);
      const sum = found.get(key) ?? { file, line, python: 0, input: 0, tracing: 0, looks: 0 };
      for (const column of ["python", "input", "tracing", "looks"] as const) {
        sum[column] += calls[column][call] as number;
      }
      found.set(key, sum);
    }
  });
  return [...found.values()];
}
