// The lanes above those of the devices: sampled Python, phases of Keras' loops, runs, and the layers whose ops ran.

import { type CapturedCells, cellOf, MARKS } from "../data/cell.ts";
import { cacheOf, type Profile } from "../data/profile.ts";
import { frameName } from "../engine/code.ts";
import { layerColumns, ROLES } from "../engine/layers.ts";
import { shortTime, visible } from "../lib/format.ts";
import { type Context, type Lane, stacked } from "./lanes.ts";
import { colourOfRole, PART, PARTS } from "./spans.ts";
import { type Layout, laidOut, layoutOf, type Slices, slicesOf } from "./timeline_layout.ts";

/** A layout of some steps with the lanes above the devices: one after another, or where they were in the cell. */
export function wholeLayout(profile: Profile, chosen: readonly number[], isWhole: boolean): Layout {
  return cacheOf(profile).recent(`timeline and cell ${isWhole} ${chosen.join()}`, () => {
    const [slices, cells] = [slicesOf(profile), isWhole ? cellOf(profile) : undefined];
    const layout = cells ? laidOut(slices, chosen, cells.stepStart) : layoutOf(profile, chosen);
    const lanes = contextLanes(profile, slices, layout, cells !== undefined);
    if (!lanes.length) return layout;
    const nanos = cells?.nanos[0] ?? 0;
    const axis = cells ? [{ from: 0, to: nanos }] : layout.axis;
    const none = new Float64Array(0);
    const context = { device: -1, lanes, hasThreads: false, busy: { start: none, end: none } };
    return {
      ...layout,
      tracks: [context, ...layout.tracks],
      axis,
      end: Math.max(layout.end, nanos),
    };
  });
}

function contextLanes(profile: Profile, slices: Slices, layout: Layout, isWhole: boolean): Lane[] {
  const cells = cellOf(profile);
  const windows = cells ? windowsOf(cells, layout, isWhole) : [];
  const ofCell = cells ? [pythonLanes, phaseLanes, runLanes].flatMap((lanes) => lanes(cells, windows)) : [];
  return [...ofCell, ...layerLanes(profile, slices, layout)];
}

// As in analysis/account/step.py: a shorter gap is the runtime's own.
const IDLE_NANOS = 100_000;

/** A stretch of a cell, and where it lies in the layout. */
interface Window {
  readonly cell: number;
  readonly from: number;
  readonly to: number;
  readonly at: number;
}

function windowsOf(
  { nanos, stepCell, stepStart }: CapturedCells,
  layout: Layout,
  isWhole: boolean,
): Window[] {
  if (isWhole) return [{ cell: 0, from: 0, to: nanos[0] as number, at: 0 }];
  return layout.steps
    .filter(({ step }) => (stepCell[step] as number) >= 0 && (stepStart[step] as number) >= 0)
    .map(({ step, from, to }) => {
      const began = stepStart[step] as number;
      return { cell: stepCell[step] as number, from: began, to: began + to - from, at: from };
    });
}

// Times in a cell are whole microseconds, so that what follows may seem to begin before.
const ROUNDED = 2000;

/** Rows of a cell, each with a start and an end. */
interface CellRows {
  readonly cell: Int32Array;
  readonly start: Float64Array;
  end(row: number): number;
}

/** The lanes of rows in the windows; a row that several windows show is a slice in each. */
function lanesOf(context: Context, { cell, start, end }: CellRows, windows: readonly Window[]): Lane[] {
  const found: { readonly row: number; readonly from: number; length: number }[] = [];
  for (let row = 0; row < start.length; row++) {
    for (const window of windows) {
      if (window.cell !== cell[row]) continue;
      const left = Math.max(start[row] as number, window.from);
      const right = Math.min(end(row), window.to);
      if (right > left) found.push({ row, from: window.at + left - window.from, length: right - left });
    }
  }
  found.sort((one, other) => one.from - other.from || other.length - one.length);
  for (const [place, each] of found.entries()) {
    const overlap = each.from + each.length - (found[place + 1]?.from ?? Number.POSITIVE_INFINITY);
    if (overlap > 0 && overlap <= ROUNDED) each.length -= Math.min(overlap, each.length);
  }
  const lanes = stacked(
    Int32Array.from(found.keys()),
    Float64Array.from(found, ({ from }) => from),
    Float64Array.from(found, ({ length }) => length),
  );
  return lanes.map((lane, level) => ({
    ...aboveDevices(context, level),
    ...lane,
    execution: lane.execution.map((each) => found[each]?.row ?? 0),
  }));
}

function aboveDevices(context: Context, level: number) {
  return { device: -1, thread: 0, name: "", level, isTransfers: false, context } as const;
}

type Part = (typeof PARTS)[number];
const colourOf = (part: Part): number => PART + PARTS.indexOf(part);

// As profiles/cell.py names them; any other phase is a callback's method.
const PHASES: Readonly<Record<string, readonly [name: string, part: Part]>> = {
  "next batch": ["next batch", "input"],
  step: ["step", "forward"],
  validation: ["validation", "rest"],
  saving: ["saving", "python"],
  between: ["Keras' own loop", "rest"],
};

function phaseLanes({ phases }: CapturedCells, windows: readonly Window[]): Lane[] {
  const { names, name, cell, start, nanos } = phases;
  const nameOf = (row: number): string => names[name[row] as number] ?? "";
  const context: Context = {
    label: "phases",
    name: (row) => PHASES[nameOf(row)]?.[0] ?? visible(nameOf(row)),
    colour: (row) => colourOf(PHASES[nameOf(row)]?.[1] ?? "python"),
    facts: (row) => timesOf(start[row] as number, nanos[row] as number),
  };
  const end = (row: number) => (start[row] as number) + (nanos[row] as number);
  return lanesOf(context, { cell, start, end }, windows);
}

const TOLD_MARKS: readonly (readonly [mark: number, told: string])[] = [
  [MARKS.first, "first of its kind, or built anew"],
  [MARKS.recorded, "its ops were recorded"],
  [MARKS.partly, "its ops were recorded in part"],
  [MARKS.raised, "ended in an exception"],
];

function runLanes({ runs }: CapturedCells, windows: readonly Window[]): Lane[] {
  const { kinds, kind, count, mark, cell, start, end, nanos } = runs;
  const told = (row: number): string =>
    TOLD_MARKS.filter(([each]) => (mark[row] as number) & each)
      .map(([, text]) => text)
      .join(", ");
  const context: Context = {
    label: "steps",
    name: (row) => {
      const [name, times] = [visible(kinds[kind[row] as number] || "step"), count[row] as number];
      return times > 1 ? `${times} × ${name}` : name;
    },
    colour: (row) => colourOf((mark[row] as number) & MARKS.first ? "first" : "forward"),
    facts: (row) => [
      ...timesOf(start[row] as number, (end[row] as number) - (start[row] as number)),
      ["in runs", (count[row] as number) > 1 ? shortTime((nanos[row] as number) / 1000) : ""],
      ["run", told(row) || "not recorded"],
    ],
  };
  return lanesOf(context, { cell, start, end: (row) => end[row] as number }, windows);
}

function timesOf(start: number, nanos: number): (readonly [string, string])[] {
  return [
    ["start", `${shortTime(start / 1000)} after the cell began`],
    ["duration", shortTime(nanos / 1000)],
  ];
}

const MOST_FRAMES = 4;
// The parts of a cell in which Python is seen that have a colour of their own.
const PYTHON_PARTS: Readonly<Record<string, Part>> = { input: "input", tracing: "first", tfprof: "tfprof" };

/** A stretch in which a call went on, as far as the sampler saw. */
interface SeenCall {
  readonly call: number;
  readonly part: number;
  readonly cell: number;
  readonly start: number;
  end: number;
}

/** Sampled Python: the user's own calls, one below the other, and what of a library the innermost of them calls. */
function pythonLanes(cells: CapturedCells, windows: readonly Window[]): Lane[] {
  return seenCalls(cells).flatMap((rows, level) => {
    const columns = {
      cell: Int32Array.from(rows, ({ cell }) => cell),
      start: Float64Array.from(rows, ({ start }) => start),
      end: (row: number) => rows[row]?.end ?? 0,
    };
    return lanesOf(pythonContext(cells, rows), columns, windows).map((lane) => ({ ...lane, level }));
  });
}

function pythonContext({ frames, calls, parts }: CapturedCells, rows: readonly SeenCall[]): Context {
  const frameOf = (row: number) => {
    const frame = calls.frame[rows[row]?.call ?? 0] as number;
    const text = (place: number | undefined) => frames.strings[place ?? -1] ?? "";
    const [file, name] = [text(frames.file[frame]), text(frames.function[frame])];
    return {
      file,
      line: frames.line[frame] as number,
      function: name,
      source: text(frames.source[frame]).trim(),
    };
  };
  const partOf = (row: number): string => parts[rows[row]?.part ?? 0] ?? "";
  return {
    label: "Python",
    name: (row) => {
      const { file, line, function: name } = frameOf(row);
      return visible(`${file.slice(file.lastIndexOf("/") + 1)}:${line} ${name}`);
    },
    colour: (row) => colourOf(PYTHON_PARTS[partOf(row)] ?? "python"),
    facts: (row) => [
      ...timesOf(rows[row]?.start ?? 0, (rows[row]?.end ?? 0) - (rows[row]?.start ?? 0)),
      ["source", visible(frameOf(row).source)],
      ["part", partOf(row)],
      ["known by", "samples: times are estimates"],
    ],
    link: (row) => {
      const { file, line, function: name, source } = frameOf(row);
      return source ? { name: frameName(file, line, name), tab: "code" } : null;
    },
  };
}

/** By level of the calls, when each went on; looks that follow each other are one stretch. */
function seenCalls(cells: CapturedCells): readonly SeenCall[][] {
  const { looks } = cells;
  const pathOf = foldedPaths(cells);
  const found: SeenCall[][] = [];
  looks.call.forEach((innermost, look) => {
    const row = { cell: looks.cell[look] as number, part: looks.part[look] as number };
    const start = looks.start[look] as number;
    const end = start + (looks.nanos[look] as number);
    pathOf(innermost).forEach((call, level) => {
      found[level] ??= [];
      const last = found[level].at(-1);
      const goesOn = last?.call === call && last.cell === row.cell && last.part === row.part;
      if (goesOn && start - last.end <= ROUNDED) last.end = end;
      else found[level].push({ ...row, call, start, end });
    });
  });
  return found;
}

/** The calls above each call and itself, outermost first: the user's own, and a library's only at the end. */
function foldedPaths({ frames, calls }: CapturedCells): (call: number) => readonly number[] {
  const isOwn = (call: number) => (frames.source[calls.frame[call] as number] as number) >= 0;
  const known = new Map<number, readonly number[]>();
  const pathOf = (call: number): readonly number[] => {
    if (call < 0) return [];
    const found = known.get(call);
    if (found) return found;
    const above = pathOf(calls.above[call] as number);
    const last = above.at(-1);
    const isBelowLibrary = last !== undefined && !isOwn(last);
    const own = isOwn(call) && isBelowLibrary ? above.slice(0, -1) : above;
    const path = isBelowLibrary && !isOwn(call) ? above : [...own, call];
    known.set(call, path);
    return path;
  };
  return (call) => pathOf(call).slice(0, MOST_FRAMES);
}

/** A series of ops of one layer and role, which neither an op of another one nor idle time breaks. */
interface LayerRun {
  readonly layer: number;
  readonly role: number;
  readonly step: number;
  readonly from: number;
  to: number;
  ops: number;
}

const MOST_LEVELS = 3;

/** The layers that run, those that others are in above them; an instant belongs to the op that began first. */
function layerLanes(profile: Profile, slices: Slices, layout: Layout): Lane[] {
  const { names, types, parent, layer } = layerColumns(profile);
  if (!types.some(Boolean)) return [];
  const runs = layerRuns(profile, slices, layout);
  const path = (each: number): number[] => (each < 0 ? [] : [...path(parent[each] as number), each]);
  const paths = names.map((_, each) => path(each));
  const deepest = Math.min(
    Math.max(...[...new Set(layer)].map((each) => paths[each]?.length ?? 0)),
    MOST_LEVELS,
  );
  const levels = Array.from({ length: deepest }, (_, level) => merged(runs, (each) => paths[each]?.[level]));
  return levels
    .filter((each) => each.length)
    .map((each, level) => {
      const roleOf = (row: number) => each[row]?.role ?? 0;
      const nameOf = (row: number) => names[each[row]?.layer ?? 0] ?? "";
      const context: Context = {
        label: "layers",
        name: nameOf,
        colour: (row) => colourOfRole(roleOf(row)),
        facts: (row) => [
          ["type", types[each[row]?.layer ?? 0] ?? ""],
          ["pass", ROLES[roleOf(row)] ?? ""],
          ["duration", shortTime(((each[row]?.to ?? 0) - (each[row]?.from ?? 0)) / 1000)],
          ["ops", (each[row]?.ops ?? 0).toLocaleString("en")],
        ],
        link: (row) => ({ name: nameOf(row), tab: "layers" }),
      };
      return {
        ...aboveDevices(context, level),
        start: Float64Array.from(each, ({ from }) => from),
        end: Float64Array.from(each, ({ to }) => to),
        execution: Int32Array.from(each.keys()),
      };
    });
}

function layerRuns(profile: Profile, { node, step, firstTransfer }: Slices, layout: Layout): LayerRun[] {
  const { layer, role } = layerColumns(profile);
  const { durationNanos } = profile.executions;
  const found: LayerRun[] = [];
  let last: LayerRun | undefined;
  for (const execution of layout.order) {
    if (execution >= firstTransfer) continue;
    const of = node[execution] as number;
    const from = layout.start[execution] as number;
    const to = from + (durationNanos[execution] as number);
    const [ofLayer, ofRole, ofStep] = [layer[of] as number, role[of] as number, step[execution] as number];
    const isIdle = from - (last?.to ?? from) >= IDLE_NANOS;
    if (last?.layer === ofLayer && last.role === ofRole && last.step === ofStep && !isIdle) {
      last.to = Math.max(last.to, to);
      last.ops += 1;
    } else if (!last || to > last.to) {
      last = { layer: ofLayer, role: ofRole, step: ofStep, from: Math.max(from, last?.to ?? 0), to, ops: 1 };
      found.push(last);
    }
  }
  return found;
}

/** The runs of what is at one level of the tree of layers, neighbours of one layer and role together. */
function merged(runs: readonly LayerRun[], at: (layer: number) => number | undefined): LayerRun[] {
  const found: LayerRun[] = [];
  let last: LayerRun | undefined;
  for (const run of runs) {
    const layer = at(run.layer);
    if (layer === undefined) last = undefined;
    else if (
      last?.layer === layer &&
      last.role === run.role &&
      last.step === run.step &&
      run.from - last.to < IDLE_NANOS
    ) {
      last.to = run.to;
      last.ops += run.ops;
    } else {
      last = { ...run, layer };
      found.push(last);
    }
  }
  return found;
}
