// Reads a profile out of the bytes that tfprof_widget/widget/wire.py writes, and checks lengths, lists and indices.

import { ProfileError } from "./options.ts";
import type { Lists, Profile } from "./profile.ts";

type Tables = Omit<Profile, "steps" | "stepNames" | "stepWorkers" | "late">;
type Kind = "texts" | "indices" | "numbers";
/**
 * Columns of a table that have the same rows. Each holds texts, numbers, whole numbers, or indices of what is named: of
 * other rows, or of the texts before it. Brackets are around what is held in lists, and -1 is an index where a question mark follows;
 * numbers with a question mark may be absent.
 */
type Group = {
  readonly [Table in keyof Tables]: readonly [
    table: Table,
    rows: string,
    columns: { readonly [Column in keyof Tables[Table]]?: string },
  ];
}[keyof Tables];

const NUMBERS = "numbers";
const TEXTS = "texts";
const WHOLE = "whole";
const OPTIONAL_NUMBERS = "numbers?";
const GROUPS: readonly Group[] = [
  [
    "nodes",
    "nodes",
    {
      ops: TEXTS,
      op: "ops",
      typeNames: TEXTS,
      types: "[typeNames]",
      devices: TEXTS,
      device: "devices?",
      shapes: TEXTS,
      shape: "shapes?",
      outputShapes: "[shapes]",
      inputs: "[nodes?]",
      parameters: NUMBERS,
      floatOps: NUMBERS,
      nativeFloatOps: NUMBERS,
    },
  ],
  ["nodes", "values of inputs", { inputPorts: "ports?" }],
  [
    "stepTotals",
    "step totals",
    {
      node: "nodes",
      step: "steps",
      acceleratorNanos: NUMBERS,
      cpuNanos: NUMBERS,
      acceleratorMicros: NUMBERS,
      cpuMicros: NUMBERS,
      runCount: NUMBERS,
      requestedBytes: NUMBERS,
      peakBytes: NUMBERS,
      residualBytes: NUMBERS,
      outputBytes: NUMBERS,
      floatOps: OPTIONAL_NUMBERS,
    },
  ],
  [
    "executions",
    "executions",
    {
      node: "nodes",
      step: "steps",
      device: "devices",
      threads: TEXTS,
      thread: "threads",
      startNanos: NUMBERS,
      durationNanos: NUMBERS,
    },
  ],
  ["allocations", "allocations", { execution: "executions", nanos: NUMBERS, bytes: NUMBERS }],
  [
    "transfers",
    "transfers",
    {
      devices: TEXTS,
      tensors: TEXTS,
      kinds: TEXTS,
      step: "steps",
      kind: "kinds",
      source: "devices",
      target: "devices",
      tensor: "tensors",
      node: "nodes?",
      startNanos: NUMBERS,
      durationNanos: NUMBERS,
      bytes: NUMBERS,
    },
  ],
  [
    "traces",
    "frames",
    { strings: TEXTS, file: "strings", line: WHOLE, function: "strings", source: "strings?" },
  ],
  ["traces", "stacks", { stacks: "[frames]" }],
  ["traces", "nodes", { stack: "stacks?", forward: "nodes?" }],
];

const HEAD_BYTES = 8;
const LARGEST_PORT = 2 ** 31;

/** The profile in the bytes, or a ProfileError; its numbers stay where they are, its names are read when first asked for. */
export function decode(content: Uint8Array | DataView): Profile {
  const column = wireColumns(aligned(content));
  const steps = Array.from(column("steps", NUMBERS) as Float64Array);
  const stepNames = column("step_names", TEXTS) as readonly string[];
  const stepWorkers = column("step_workers", TEXTS) as readonly string[];
  const counts: Counts = { steps: steps.length, ports: LARGEST_PORT };
  checkRows("stepNames", stepNames.length, "steps", counts);
  if (stepWorkers.length) checkRows("stepWorkers", stepWorkers.length, "steps", counts);
  const found: Record<string, Record<string, unknown>> = {};
  for (const [table, rows, columns] of GROUPS) {
    found[table] ??= {};
    for (const [name, held] of Object.entries(columns)) {
      found[table][name] = read(column, table, name, held, rows, counts);
    }
  }
  const tables = found as unknown as Tables;
  let names: readonly string[] | undefined;
  return {
    ...tables,
    nodes: {
      ...tables.nodes,
      get names() {
        if (!names) {
          const texts = column("nodes.names", TEXTS) as readonly string[];
          checkRows("names", texts.length, "nodes", counts);
          names = texts;
        }
        return names;
      },
    },
    steps,
    stepNames,
    stepWorkers,
    late: column,
  };
}

/** A column, or the two of lists, that goes with those read before. */
function read(
  column: ReturnType<typeof wireColumns>,
  table: string,
  name: string,
  held: string,
  rows: string,
  counts: Counts,
): unknown {
  const full = `${table}.${name}`;
  const written = onTheWire(full);
  if (held === TEXTS) {
    const texts = column(written, TEXTS) as readonly string[];
    counts[name] = texts.length;
    return texts;
  }
  if (held.startsWith(NUMBERS)) {
    const numbers = column(written, NUMBERS, held !== NUMBERS) as Float64Array | undefined;
    if (!numbers) return numbers;
    checkRows(full, numbers.length, rows, counts);
    checkNumbers(full, numbers);
    return numbers;
  }
  if (held.startsWith("[")) {
    const [start, values] = [`${written}.start`, `${written}.values`].map((each) =>
      column(each, "indices"),
    ) as [Int32Array, Int32Array];
    checkLists(full, { start, values });
    checkRows(full, start.length - 1, rows, counts);
    checkIndices(full, values, held.slice(1, -1), counts);
    counts[`values of ${name}`] = values.length;
    return { start, values };
  }
  const indices = column(written, "indices") as Int32Array;
  checkRows(full, indices.length, rows, counts);
  if (held !== WHOLE) checkIndices(full, indices, held, counts);
  return indices;
}

/** A table's or column's name as Python writes it. */
function onTheWire(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Reads a column by its name on the wire. */
function wireColumns(bytes: Uint8Array): (name: string, kind: Kind, isOptional?: boolean) => unknown {
  if (bytes.length < HEAD_BYTES) throw damaged("they are cut off");
  const first = HEAD_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const index = new Map(Object.entries(parsed("the index", bytes, HEAD_BYTES, first) ?? {}));
  return (name, kind, isOptional) => {
    const found = index.get(name);
    if (!found) {
      if (isOptional) return undefined;
      throw new ProfileError(
        `the profile lacks the column ${name}: it was written by another version of tfprof_widget`,
      );
    }
    if (!Array.isArray(found) || found[0] !== kind) throw damaged(`${name} holds no ${kind}`);
    const [, position, length] = found;
    const start = first + position;
    const end = start + length;
    if (kind === "texts") return texts(name, parsed(name, bytes, start, end));
    const offset = bytes.byteOffset + start;
    try {
      if (!isWithin(bytes, start, end)) throw new RangeError();
      return kind === "indices"
        ? new Int32Array(bytes.buffer, offset, length / Int32Array.BYTES_PER_ELEMENT)
        : new Float64Array(bytes.buffer, offset, length / Float64Array.BYTES_PER_ELEMENT);
    } catch {
      throw damaged(`${name} lies where it cannot be`);
    }
  };
}

/** What JSON says between two places. */
function parsed(name: string, bytes: Uint8Array, start: number, end: number): unknown {
  try {
    if (!isWithin(bytes, start, end)) throw new RangeError();
    return JSON.parse(new TextDecoder().decode(bytes.subarray(start, end)));
  } catch {
    throw damaged(`${name} cannot be read`);
  }
}

/** The strings of a column, which are all that it may hold. */
function texts(name: string, column: unknown): readonly string[] {
  if (Array.isArray(column) && column.every((each) => typeof each === "string")) return column;
  throw damaged(`${name} is no list of texts`);
}

function isWithin(bytes: Uint8Array, start: unknown, end: unknown): boolean {
  const [first, last] = [start as number, end as number];
  return (
    Number.isSafeInteger(first) &&
    Number.isSafeInteger(last) &&
    first >= HEAD_BYTES &&
    first <= last &&
    last <= bytes.length
  );
}

/** The same bytes where a Float64Array may lie on them. */
function aligned(content: Uint8Array | DataView): Uint8Array {
  const bytes = new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
  return bytes.byteOffset % HEAD_BYTES === 0 ? bytes : bytes.slice();
}

/** How many entries what columns count or point into has, by its name; grows as columns are read. */
export type Counts = Record<string, number>;

/** What to say of columns that cannot be read, whoever damaged them. */
export function damaged(reason: string): ProfileError {
  return new ProfileError(`the profile's columns are damaged: ${reason}; save or send the result again`);
}

/** Refuse a column that has not an entry for each row; the first column of the rows tells how many there are. */
function checkRows(name: string, count: number, rows: string, counts: Counts): void {
  counts[rows] ??= count;
  if (count !== counts[rows]) throw damaged(`${name} has ${count} entries, for ${counts[rows]} ${rows}`);
}

/** Refuse a number that is none. */
function checkNumbers(name: string, column: Float64Array): void {
  if (!column.every(Number.isFinite)) throw damaged(`${name} has a number without measure`);
}

/** Refuse an index beyond what the column points into; a question mark says that -1 stands for what is absent. */
function checkIndices(name: string, column: Int32Array, target: string, counts: Counts): void {
  const [into = "", ...absent] = target.split("?");
  const size = counts[into] as number;
  for (const index of column) {
    if (index < -absent.length || index >= size) throw damaged(`${name} has the index ${index}, of ${size}`);
  }
}

/** Refuse lists that do not lie one after another. */
function checkLists(name: string, { start, values }: Lists): void {
  const isInOrder = start.every((each, list) => each >= (start[list - 1] ?? 0));
  if (start[0] !== 0 || !isInOrder || start.at(-1) !== values.length) {
    throw damaged(`the lists of ${name} do not fit`);
  }
}
