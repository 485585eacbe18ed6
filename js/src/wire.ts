// Reads a profile's columns as tfprof_widget/wire.py writes them: an index in JSON, then the columns one after another.

import type { Lists, Profile } from "./profile.ts";

/** The profile in the bytes; its numbers stay where they are, its names are read when first asked for. */
export function decoded(content: Uint8Array | DataView): Profile {
  const columns = new Columns(aligned(content));
  return {
    steps: Array.from(columns.numbers("steps")),
    stepNames: columns.texts("step_names"),
    nodes: {
      get names() {
        return columns.texts("nodes.names");
      },
      ops: columns.texts("nodes.ops"),
      op: columns.indices("nodes.op"),
      typeNames: columns.texts("nodes.type_names"),
      types: columns.lists("nodes.types"),
      devices: columns.texts("nodes.devices"),
      device: columns.indices("nodes.device"),
      shapes: columns.texts("nodes.shapes"),
      shape: columns.indices("nodes.shape"),
      outputShapes: columns.lists("nodes.output_shapes"),
      inputs: columns.lists("nodes.inputs"),
      inputPorts: columns.indices("nodes.input_ports"),
      parameters: columns.numbers("nodes.parameters"),
      floatOps: columns.numbers("nodes.float_ops"),
    },
    stepTotals: {
      node: columns.indices("step_totals.node"),
      step: columns.indices("step_totals.step"),
      acceleratorNanos: columns.numbers("step_totals.accelerator_nanos"),
      cpuNanos: columns.numbers("step_totals.cpu_nanos"),
      acceleratorMicros: columns.numbers("step_totals.accelerator_micros"),
      cpuMicros: columns.numbers("step_totals.cpu_micros"),
      runCount: columns.numbers("step_totals.run_count"),
      requestedBytes: columns.numbers("step_totals.requested_bytes"),
      peakBytes: columns.numbers("step_totals.peak_bytes"),
      residualBytes: columns.numbers("step_totals.residual_bytes"),
      outputBytes: columns.numbers("step_totals.output_bytes"),
    },
    executions: {
      node: columns.indices("executions.node"),
      step: columns.indices("executions.step"),
      device: columns.indices("executions.device"),
      thread: columns.indices("executions.thread"),
      startNanos: columns.numbers("executions.start_nanos"),
      durationNanos: columns.numbers("executions.duration_nanos"),
    },
    allocations: {
      execution: columns.indices("allocations.execution"),
      nanos: columns.numbers("allocations.nanos"),
      bytes: columns.numbers("allocations.bytes"),
    },
    traces: {
      strings: columns.texts("traces.strings"),
      file: columns.indices("traces.file"),
      line: columns.indices("traces.line"),
      function: columns.indices("traces.function"),
      source: columns.indices("traces.source"),
      stacks: columns.lists("traces.stacks"),
      stack: columns.indices("traces.stack"),
      forward: columns.indices("traces.forward"),
    },
  };
}

type Kind = "texts" | "indices" | "numbers";

const HEAD_BYTES = 8;

class Columns {
  private readonly index: Readonly<Record<string, readonly [Kind, number, number]>>;
  private readonly start: number;
  private readonly read = new Map<string, unknown>();

  constructor(private readonly bytes: Uint8Array) {
    this.start = HEAD_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    this.index = JSON.parse(text(bytes.subarray(HEAD_BYTES, this.start)));
  }

  texts(name: string): readonly string[] {
    return this.column(name) as string[];
  }

  indices(name: string): Int32Array {
    return this.column(name) as Int32Array;
  }

  numbers(name: string): Float64Array {
    return this.column(name) as Float64Array;
  }

  lists(name: string): Lists {
    return { start: this.indices(`${name}.start`), values: this.indices(`${name}.values`) };
  }

  private column(name: string): unknown {
    const found = this.index[name];
    if (!found) {
      throw new Error(
        `the profile lacks the column ${name}: it was written by another version of tfprof_widget`,
      );
    }
    if (!this.read.has(name)) this.read.set(name, this.unpacked(...found));
    return this.read.get(name);
  }

  private unpacked(kind: Kind, position: number, length: number): unknown {
    const start = this.start + position;
    if (kind === "texts") return JSON.parse(text(this.bytes.subarray(start, start + length)));
    const [buffer, offset] = [this.bytes.buffer, this.bytes.byteOffset + start];
    return kind === "indices"
      ? new Int32Array(buffer, offset, length / Int32Array.BYTES_PER_ELEMENT)
      : new Float64Array(buffer, offset, length / Float64Array.BYTES_PER_ELEMENT);
  }
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** The same bytes where a Float64Array may lie on them. */
function aligned(content: Uint8Array | DataView): Uint8Array {
  const bytes = new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
  return bytes.byteOffset % HEAD_BYTES === 0 ? bytes : bytes.slice();
}
