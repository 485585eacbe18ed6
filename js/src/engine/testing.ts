// For tests: profiles written as text, and views drawn as text, so that tests show what they are about.

import { withDefaults } from "../data/options.ts";
import type { Lists, Profile, StepTotals, Traces, Transfers } from "../data/profile.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import { evaluate, extend } from "./evaluate.ts";
import { EXTENSION } from "./extension.ts";
import type { Measure } from "./measures.ts";
import { byteOrder } from "./order.ts";
import type { Tree } from "./tree.ts";
import type { View } from "./view.ts";

extend(EXTENSION);

/** A table of transfers without rows. */
export const NO_TRANSFERS: Transfers = {
  devices: [],
  tensors: [],
  kinds: [],
  step: new Int32Array(0),
  kind: new Int32Array(0),
  source: new Int32Array(0),
  target: new Int32Array(0),
  tensor: new Int32Array(0),
  node: new Int32Array(0),
  startNanos: new Float64Array(0),
  durationNanos: new Float64Array(0),
  bytes: new Float64Array(0),
};

interface Sketched {
  readonly name: string;
  readonly op: string;
  readonly inputs: string[];
  readonly stack: string[];
  /** By step the nanoseconds of each execution. */
  runs: number[][];
  params: number;
  floatOps: number;
  bytes: number;
  device: string;
  types: string[];
}

/**
 * The profile of a sketch: a node a line, as `c = Add(a, b) 5us`, and then what is known of it. `4us+300ns;-;6us` are
 * two executions in step 0, none in step 1, one in step 2; `6params`, `8flops` and `+mine` are what they say; `64B` is
 * requested by each execution, on the CPU; `@gpu` is the device; `| a.py:1:main > b.py:7:layer` is the stack.
 */
export function profileOf(sketch: string): Profile {
  const read = sketch.trim().split("\n").map(readLine);
  const compare = byteOrder(read.map(({ name }) => name));
  const nodes = read.sort((one, other) => compare(one.name, other.name));
  const names = nodes.map(({ name }) => name);
  const ops = distinct(nodes.map(({ op }) => op));
  const devices = distinct(nodes.map(({ device }) => device)).filter(Boolean);
  const typeNames = distinct(nodes.flatMap(({ op, device, types }) => [op, device, ...types]));
  const steps = Array.from({ length: Math.max(...nodes.map(({ runs }) => runs.length)) }, (_, step) => step);
  const none = new Int32Array(0);
  return {
    nodes: {
      names,
      ops,
      op: Int32Array.from(nodes, ({ op }) => ops.indexOf(op)),
      typeNames,
      types: listsOf(
        nodes.map((node) => [node.op, node.device, ...node.types].map((type) => typeNames.indexOf(type))),
      ),
      devices,
      device: Int32Array.from(nodes, ({ device }) => devices.indexOf(device)),
      shapes: [],
      shape: new Int32Array(nodes.length).fill(-1),
      outputShapes: listsOf(nodes.map(() => [])),
      inputs: listsOf(nodes.map(({ inputs }) => inputs.map((input) => names.indexOf(input)))),
      inputPorts: new Int32Array(nodes.flatMap(({ inputs }) => inputs).length),
      parameters: Float64Array.from(nodes, ({ params }) => params),
      floatOps: Float64Array.from(nodes, ({ floatOps }) => floatOps),
      nativeFloatOps: Float64Array.from(nodes, ({ floatOps }) => floatOps),
    },
    steps,
    stepNames: steps.map((step) => (step % 2 ? "odd" : "even")),
    stepWorkers: [],
    executions: {
      node: none,
      step: none,
      device: none,
      threads: [],
      thread: none,
      startNanos: new Float64Array(0),
      durationNanos: new Float64Array(0),
    },
    allocations: { execution: none, nanos: new Float64Array(0), bytes: new Float64Array(0) },
    transfers: NO_TRANSFERS,
    stepTotals: stepTotalsOf(nodes),
    traces: tracesOf(nodes),
  };
}

/** The rows of a view, indented, each with own and total of the measures (times in microseconds). */
export function drawn(view: View, ...measures: Measure[]): string {
  const lines = Array.from({ length: view.rows }, (_, row) => {
    const values = measures.map((measure) => {
      const [own, total] = [view.own(measure)[row], view.total(measure)[row]].map(
        (value) => (value as number) / view.unit(measure),
      );
      return `${own}/${total}`;
    });
    return "  ".repeat(view.depth[row] as number) + [view.name(row), ...values].join(" ");
  });
  return lines.join("\n");
}

/** A view of a sketch, drawn. */
export function shown(
  profile: Profile,
  kind: ViewName,
  options: Partial<Options> = {},
  measure: Measure = "micros",
): string {
  return drawn(evaluate(profile, kind, withDefaults(options)), measure);
}

/** The names of a tree, indented. */
export function drawnTree(tree: Tree): string {
  return tree.names.map((name, place) => "  ".repeat(tree.depth[place] as number) + name).join("\n");
}

/** An expected drawing, as it stands indented in a test. */
export function drawing(text: string): string {
  const lines = text.replace(/^\n|\n *$/g, "").split("\n");
  const indent = Math.min(...lines.map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(indent)).join("\n");
}

function readLine(line: string): Sketched {
  const [about = "", stack = ""] = line.split("|");
  const found = /^\s*(\S+) += (\w+)\(([^)]*)\)(.*)$/.exec(about);
  if (!found) throw new Error(`${line} is no line of a sketch, as \`c = Add(a, b) 5us\``);
  const [, name = "", op = "", inputs = "", rest = ""] = found;
  const words = (text: string, separator: string) =>
    text
      .split(separator)
      .map((each) => each.trim())
      .filter(Boolean);
  const read: Sketched = {
    name,
    op,
    inputs: words(inputs, ","),
    stack: words(stack, ">"),
    runs: [],
    params: 0,
    floatOps: 0,
    bytes: 0,
    device: "",
    types: [],
  };
  for (const word of words(rest, " ")) readWord(read, word);
  return read;
}

function readWord(read: Sketched, word: string): void {
  const amount = Number.parseFloat(word);
  if (/^(-|\d+(us|ns))([+;]|$)/.test(word)) read.runs = word.split(";").map(readRuns);
  else if (word.endsWith("params")) read.params = amount;
  else if (word.endsWith("flops")) read.floatOps = amount;
  else if (word.endsWith("B")) read.bytes = amount;
  else if (word.startsWith("@")) read.device = word.slice(1);
  else if (word.startsWith("+")) read.types.push(word.slice(1));
  else throw new Error(`what is ${word}?`);
}

function readRuns(step: string): number[] {
  const runs = step.split("+").filter((run) => run !== "-");
  return runs.map((run) => Number.parseInt(run, 10) * (run.endsWith("us") ? 1000 : 1));
}

function stepTotalsOf(nodes: readonly Sketched[]): StepTotals {
  const rows = nodes.flatMap(({ runs, bytes }, node) =>
    runs.map((nanos, step) => ({ node, step, nanos, bytes })).filter(({ nanos }) => nanos.length > 0),
  );
  type Row = (typeof rows)[number];
  const column = (value: (row: Row) => number) => Float64Array.from(rows, value);
  const sum = (values: number[]) => values.reduce((one, other) => one + other, 0);
  const none = column(() => 0);
  return {
    node: Int32Array.from(rows, ({ node }) => node),
    step: Int32Array.from(rows, ({ step }) => step),
    acceleratorNanos: none,
    cpuNanos: column(({ nanos }) => sum(nanos)),
    acceleratorMicros: none,
    cpuMicros: column(({ nanos }) => sum(nanos.map((each) => Math.max(1, Math.floor(each / 1000))))),
    runCount: column(({ nanos }) => nanos.length),
    requestedBytes: column(({ nanos, bytes }) => nanos.length * bytes),
    peakBytes: none,
    residualBytes: none,
    outputBytes: none,
  };
}

function tracesOf(nodes: readonly Sketched[]): Traces {
  const frames = distinct(nodes.flatMap(({ stack }) => stack));
  const parts = frames.map((frame) => frame.split(":") as [string, string, string]);
  const strings = distinct(parts.flatMap(([file, , name]) => [file, name]));
  return {
    strings,
    file: Int32Array.from(parts, ([file]) => strings.indexOf(file)),
    line: Int32Array.from(parts, ([, line]) => Number(line)),
    function: Int32Array.from(parts, ([, , name]) => strings.indexOf(name)),
    source: new Int32Array(frames.length).fill(-1),
    stacks: listsOf(nodes.map(({ stack }) => stack.map((frame) => frames.indexOf(frame)))),
    stack: Int32Array.from(nodes, ({ stack }, node) => (stack.length > 0 ? node : -1)),
    forward: new Int32Array(nodes.length).fill(-1),
  };
}

function distinct(texts: readonly string[]): string[] {
  const found = [...new Set(texts)];
  return found.sort(byteOrder(found));
}

function listsOf(lists: readonly number[][]): Lists {
  const start = new Int32Array(lists.length + 1);
  lists.forEach((list, index) => {
    start[index + 1] = (start[index] as number) + list.length;
  });
  return { start, values: Int32Array.from(lists.flat()) };
}
