import { expect, test } from "vitest";
import { decode } from "./wire.ts";

const LISTS = ["nodes.types", "nodes.output_shapes", "nodes.inputs", "traces.stacks"];
const INDICES = [
  ...LISTS.flatMap((name) => [`${name}.start`, `${name}.values`]),
  ...["nodes.op", "nodes.device", "nodes.shape", "nodes.input_ports"],
  ...["step_totals.node", "step_totals.step", "allocations.execution"],
  ...["executions.node", "executions.step", "executions.device", "executions.thread"],
  ...["step", "kind", "source", "target", "tensor", "node"].map((each) => `transfers.${each}`),
  ...["traces.file", "traces.line", "traces.function", "traces.source", "traces.stack", "traces.forward"],
];
const NUMBERS = [
  ...["steps", "nodes.parameters", "nodes.float_ops", "nodes.native_float_ops"],
  ...["accelerator_nanos", "cpu_nanos", "accelerator_micros", "cpu_micros", "run_count"].map(
    (each) => `step_totals.${each}`,
  ),
  ...["requested_bytes", "peak_bytes", "residual_bytes", "output_bytes"].map((each) => `step_totals.${each}`),
  ...["start_nanos", "duration_nanos", "bytes"].map((each) => `transfers.${each}`),
  ...["executions.start_nanos", "executions.duration_nanos", "allocations.nanos", "allocations.bytes"],
];
const TEXTS = [
  "step_names",
  "step_workers",
  "transfers.devices",
  "transfers.tensors",
  "transfers.kinds",
  "nodes.names",
  "nodes.ops",
  "nodes.type_names",
  "nodes.devices",
  "nodes.shapes",
  "executions.threads",
  "traces.strings",
];

/** Columns laid out by hand, as docs/wire.md says; those not given are empty. */
function laidOut(given: Readonly<Record<string, readonly unknown[]>>, without = ""): Uint8Array {
  const index: Record<string, readonly [string, number, number]> = {};
  const columns: number[] = [];
  const optional = [...Object.keys(OTHER_STACKS), "step_totals.float_ops"].filter((name) => given[name]);
  for (const name of [...INDICES, ...NUMBERS, ...TEXTS, ...optional].filter((each) => each !== without)) {
    const values = given[name] ?? [];
    const kind = TEXTS.includes(name)
      ? "texts"
      : [...NUMBERS, "step_totals.float_ops"].includes(name)
        ? "numbers"
        : "indices";
    const bytes =
      kind === "texts"
        ? new TextEncoder().encode(JSON.stringify(values))
        : new Uint8Array((kind === "indices" ? Int32Array : Float64Array).from(values as number[]).buffer);
    index[name] = [kind, columns.length, bytes.length];
    columns.push(...bytes, ...new Array((8 - (bytes.length % 8)) % 8).fill(0));
  }
  let head = JSON.stringify(index);
  head += " ".repeat((8 - (head.length % 8)) % 8);
  const length = new Uint8Array(new BigUint64Array([BigInt(head.length)]).buffer);
  return Uint8Array.from([...length, ...new TextEncoder().encode(head), ...columns]);
}

const EXECUTED_NOWHERE = {
  "nodes.devices": ["/cpu:0"],
  "executions.threads": [""],
  ...Object.fromEntries(
    ["node", "step", "device", "thread", "start_nanos", "duration_nanos"].map((each) => [
      `executions.${each}`,
      [each === "node" ? 2 : 0],
    ]),
  ),
};

/** A tensor of the second node on its way to another device, asked for 30 ns after the step began. */
const ONE_TRANSFER: Readonly<Record<string, readonly unknown[]>> = {
  "transfers.devices": ["/job:ps/task:0/cpu:0", "/job:worker/task:0/cpu:0"],
  "transfers.tensors": ["edge_4_b/c"],
  "transfers.kinds": ["RecvTensor"],
  "transfers.step": [1],
  "transfers.kind": [0],
  "transfers.source": [0],
  "transfers.target": [1],
  "transfers.tensor": [0],
  "transfers.node": [1],
  "transfers.start_nanos": [30],
  "transfers.duration_nanos": [70],
  "transfers.bytes": [4096],
};

/** In the second step it is not known where the second node was made. */
const OTHER_STACKS: Readonly<Record<string, readonly number[]>> = {
  "other_stacks.group": [-1, 0],
  "other_stacks.of": [0],
  "other_stacks.node": [1],
  "other_stacks.stack": [-1],
  "other_stacks.forward": [0],
};

/** Two nodes of which the second takes in the first. */
const TWO_NODES: Readonly<Record<string, readonly unknown[]>> = {
  steps: [0, 7],
  step_names: ["train", "bewerte ☃"],
  "nodes.names": ["a", "b/c"],
  "nodes.ops": ["Add", "Mul"],
  "nodes.op": [1, 0],
  "nodes.types.start": [0, 0, 0],
  "nodes.device": [-1, -1],
  "nodes.shape": [-1, -1],
  "nodes.output_shapes.start": [0, 0, 0],
  "nodes.inputs.start": [0, 0, 1],
  "nodes.inputs.values": [0],
  "nodes.input_ports": [0],
  "nodes.parameters": [2 ** 52 + 1, 3],
  "nodes.float_ops": [0, 0],
  "nodes.native_float_ops": [0, 0],
  "traces.stacks.start": [0],
  "traces.stack": [-1, -1],
  "traces.forward": [-1, -1],
};

test("columns come back as they were laid out", () => {
  const profile = decode(laidOut(TWO_NODES));
  expect(profile.steps).toEqual([0, 7]);
  expect(profile.stepNames).toEqual(["train", "bewerte ☃"]);
  expect(profile.nodes.names).toEqual(["a", "b/c"]);
  expect([...profile.nodes.op]).toEqual([1, 0]);
  expect([...profile.nodes.parameters]).toEqual([4503599627370497, 3]);
  expect([...profile.nodes.inputs.start]).toEqual([0, 0, 1]);
});

test("workers and transfers come back", () => {
  const { stepWorkers, transfers } = decode(
    laidOut({ ...TWO_NODES, ...ONE_TRANSFER, step_workers: ["before", "after"] }),
  );
  expect(stepWorkers).toEqual(["before", "after"]);
  expect(transfers.devices[transfers.target[0] as number]).toBe("/job:worker/task:0/cpu:0");
  expect([...transfers.startNanos, ...transfers.durationNanos, ...transfers.bytes]).toEqual([30, 70, 4096]);
});

test("a column that only panels need is read when it is asked for", () => {
  expect(decode(laidOut(TWO_NODES)).late?.("other_stacks.group", "indices", true)).toBeUndefined();
  const { late } = decode(laidOut({ ...TWO_NODES, ...OTHER_STACKS }));
  expect(late?.("other_stacks.group", "indices", true)).toEqual(Int32Array.of(-1, 0));
});

test("bytes may lie anywhere in a message", () => {
  const content = laidOut(TWO_NODES);
  const message = new Uint8Array(content.length + 3);
  message.set(content, 3);
  const profile = decode(new DataView(message.buffer, 3));
  expect([...profile.nodes.parameters]).toEqual([4503599627370497, 3]);
});

test.each<[complaint: string, change: Readonly<Record<string, readonly unknown[]>>]>([
  ["nodes.op has the index 2, of 2", { "nodes.op": [1, 2] }],
  ["nodes.device has the index 0, of 0", { "nodes.device": [-1, 0] }],
  ["floatOps has 1 entries, for 2 nodes", { "nodes.float_ops": [0] }],
  ["the lists of nodes.inputs do not fit", { "nodes.inputs.start": [0, 5, 1] }],
  ["the lists of traces.stacks do not fit", { "traces.stacks.start": [] }],
  ["executions.node has the index 2, of 2", EXECUTED_NOWHERE],
  ["nodes.parameters has a number without measure", { "nodes.parameters": [Number.NaN, 0] }],
  ["transfers.target has the index 2, of 2", { ...ONE_TRANSFER, "transfers.target": [2] }],
  ["transfers.node has the index 2, of 2", { ...ONE_TRANSFER, "transfers.node": [2] }],
  ["stepWorkers has 1 entries, for 2 steps", { step_workers: ["before"] }],
  ["step_names is no list of texts", { step_names: [5, 6] }],
])("columns that do not go together are refused: %s", (complaint, change) => {
  expect(() => decode(laidOut({ ...TWO_NODES, ...change }))).toThrow(complaint);
});

test("float operations by step are there if they were sent", () => {
  expect(decode(laidOut(TWO_NODES)).stepTotals.floatOps).toBeUndefined();
  const sent = { ...TWO_NODES, "step_totals.float_ops": [] };
  expect([...(decode(laidOut(sent)).stepTotals.floatOps ?? [1])]).toEqual([]);
  expect(() => decode(laidOut({ ...sent, "step_totals.float_ops": [7] }))).toThrow(
    "floatOps has 1 entries, for 0 step totals",
  );
});

test("names are counted when they are first read", () => {
  const { nodes } = decode(laidOut({ ...TWO_NODES, "nodes.names": ["a"] }));
  expect(() => nodes.names).toThrow("names has 1 entries, for 2 nodes");
});

test("a column that is missing is named", () => {
  expect(() => decode(laidOut({}, "nodes.op"))).toThrow("lacks the column nodes.op");
});
