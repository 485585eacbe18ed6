// Reads a profile's columns as tfprof_widget/wire.py writes them: an index in JSON, then the columns one after another.

import type { Lists, Profile } from "./profile.ts";

type Tables = Omit<Profile, "steps" | "stepNames" | "nodes"> & {
  readonly nodes: Omit<Profile["nodes"], "names">;
};
/** How many columns each is on the wire: lists are two. */
type Counts<Table> = { readonly [Name in keyof Table]: Table[Name] extends Lists ? 2 : 1 };

const TABLES: { readonly [Name in keyof Tables]: Counts<Tables[Name]> } = {
  nodes: {
    ops: 1,
    op: 1,
    typeNames: 1,
    types: 2,
    devices: 1,
    device: 1,
    shapes: 1,
    shape: 1,
    outputShapes: 2,
    inputs: 2,
    inputPorts: 1,
    parameters: 1,
    floatOps: 1,
  },
  stepTotals: {
    node: 1,
    step: 1,
    acceleratorNanos: 1,
    cpuNanos: 1,
    acceleratorMicros: 1,
    cpuMicros: 1,
    runCount: 1,
    requestedBytes: 1,
    peakBytes: 1,
    residualBytes: 1,
    outputBytes: 1,
  },
  executions: { node: 1, step: 1, device: 1, thread: 1, startNanos: 1, durationNanos: 1 },
  allocations: { execution: 1, nanos: 1, bytes: 1 },
  traces: {
    strings: 1,
    file: 1,
    line: 1,
    function: 1,
    source: 1,
    stacks: 2,
    stack: 1,
    forward: 1,
  },
};

const HEAD_BYTES = 8;

/** The profile in the bytes; its numbers stay where they are, its names are read when first asked for. */
export function decoded(content: Uint8Array | DataView): Profile {
  const column = columnsOf(aligned(content));
  const table = ([name, counts]: [string, Readonly<Record<string, 1 | 2>>]): [string, object] => {
    const columns = Object.entries(counts).map(([each, count]) => {
      const found = `${onTheWire(name)}.${onTheWire(each)}`;
      return [
        each,
        count === 1 ? column(found) : { start: column(`${found}.start`), values: column(`${found}.values`) },
      ];
    });
    return [name, Object.fromEntries(columns)];
  };
  const tables = Object.fromEntries(Object.entries(TABLES).map(table)) as unknown as Tables;
  let names: Profile["nodes"]["names"] | undefined;
  return {
    ...tables,
    nodes: {
      ...tables.nodes,
      get names() {
        names ??= column("nodes.names") as string[];
        return names;
      },
    },
    steps: Array.from(column("steps") as Float64Array),
    stepNames: column("step_names") as string[],
  };
}

/** A table's or column's name as Python writes it. */
function onTheWire(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

type Kind = "texts" | "indices" | "numbers";

/** Reads a column by its name on the wire. */
function columnsOf(bytes: Uint8Array): (name: string) => unknown {
  const first = HEAD_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const index: Readonly<Record<string, readonly [Kind, number, number]>> = JSON.parse(
    text(bytes.subarray(HEAD_BYTES, first)),
  );
  return (name) => {
    const found = index[name];
    if (!found) {
      throw new Error(
        `the profile lacks the column ${name}: it was written by another version of tfprof_widget`,
      );
    }
    const [kind, position, length] = found;
    const start = first + position;
    if (kind === "texts") return JSON.parse(text(bytes.subarray(start, start + length)));
    const [buffer, offset] = [bytes.buffer, bytes.byteOffset + start];
    return kind === "indices"
      ? new Int32Array(buffer, offset, length / Int32Array.BYTES_PER_ELEMENT)
      : new Float64Array(buffer, offset, length / Float64Array.BYTES_PER_ELEMENT);
  };
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** The same bytes where a Float64Array may lie on them. */
function aligned(content: Uint8Array | DataView): Uint8Array {
  const bytes = new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
  return bytes.byteOffset % HEAD_BYTES === 0 ? bytes : bytes.slice();
}
