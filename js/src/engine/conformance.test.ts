/// <reference types="vite/client" />
// Replays the conformance corpus from the columns that the browser gets: native tfprof's answers, and layers worked out
// by hand.

import { describe, expect, test } from "vitest";
import columns from "../../../tests/conformance/columns.jsonl?raw";
import byHand from "../../../tests/conformance/layers/by_hand.json?raw";
import { withDefaults } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import { OPTIONS, type ViewName } from "../data/protocol.ts";
import { decode } from "../data/wire.ts";
import { evaluate, extend } from "./evaluate.ts";
import { EXTENSION } from "./extension.ts";
import { layerTypes, passOf } from "./layers.ts";
import { type Measure, measures } from "./measures.ts";
import { ROOT_NAME } from "./tree.ts";
import { inputShapes, type View } from "./view.ts";

extend(EXTENSION);

type Fields = Record<string, unknown>;
type Row = [depth: number, fields: Fields];

interface Case {
  readonly view: ViewName;
  readonly options: Readonly<Record<string, unknown>>;
  readonly rows: readonly Row[];
}

const MULTI_FIELDS = {
  micros: "exec_micros",
  accelerator_micros: "accelerator_exec_micros",
  cpu_micros: "cpu_exec_micros",
  bytes: "requested_bytes",
  peak_bytes: "peak_bytes",
  residual_bytes: "residual_bytes",
  output_bytes: "output_bytes",
  params: "parameters",
  float_ops: "float_ops",
} as const;
const GRAPH_FIELDS = { ...MULTI_FIELDS, runs: "run_count" } as const;

const DOCUMENTS = import.meta.glob<string>("../../../tests/conformance/*.json", {
  query: "?raw",
  import: "default",
  eager: true,
});
const PROFILES = new Map<string, Profile>();
for (const line of columns.trim().split("\n")) {
  const [name, packed] = JSON.parse(line) as [string, string];
  PROFILES.set(name, decode(await unpacked(packed)));
}
const CASES = Object.entries(DOCUMENTS).flatMap(([path, text]) => {
  const name = path.replace(/.*\/|\.json$/g, "");
  return (JSON.parse(text).cases as Case[]).map((each) => ({ name, view: each.view, case: each }));
});

interface LayersByHand {
  readonly name: string;
  readonly cases: readonly { readonly options: Case["options"]; readonly rows: readonly unknown[][] }[];
}
const OF_LAYERS = (JSON.parse(byHand).profiles as LayersByHand[]).flatMap(({ name, cases }) =>
  cases.map((each, place) => ({ name, place, ...each })),
);

test("the corpus is all there", () => {
  expect(CASES).toHaveLength(38);
  expect(OF_LAYERS).toHaveLength(8);
});

describe("native tfprof's answers", () => {
  test.each(CASES)("$name $view", ({ name, view, case: { options, rows } }) => {
    expect(rowsOf(viewOf(name, view, { ...options, timing: "tfprof" }))).toEqual(rows);
  });
});

describe("layers worked out by hand", () => {
  test.each(OF_LAYERS)("$name $place", ({ name, options, rows }) => {
    expect(layerRows(viewOf(`layers: ${name}`, "layers", options))).toEqual(rows);
  });
});

describe("layers add up to all ops", () => {
  const each = [...PROFILES.keys()].flatMap((name) =>
    ["exact", "tfprof"].map((timing) => ({ name, timing })),
  );
  test.each(each)("$name, $timing", ({ name, timing }) => {
    const [layers, ops] = (["layers", "op"] as const).map((view) =>
      viewOf(name, view, { timing, max_depth: 10_000 }),
    ) as [View, View];
    for (const measure of [
      "micros",
      "cpu_micros",
      "accelerator_micros",
      "bytes",
      "params",
      "float_ops",
    ] as const) {
      expect(sumOf(layers.own(measure)), measure).toBe(sumOf(ops.own(measure)));
      expect(layers.grandTotal(measure), measure).toBe(sumOf(ops.own(measure)));
    }
  });
});

function viewOf(name: string, view: ViewName, options: Case["options"]): View {
  const given = OPTIONS.filter((option) => option.name in options);
  const values = Object.fromEntries(given.map((option) => [option.key, options[option.name]]));
  return evaluate(PROFILES.get(name) as Profile, view, withDefaults(values));
}

function sumOf(column: ArrayLike<number>): number {
  return Array.from(column).reduce((sum, value) => sum + value, 0);
}

/** The rows of a layers view with the columns that the corpus has. */
function layerRows(view: View): unknown[][] {
  const types = layerTypes(view);
  const passes = (["forward", "backward", "update"] as const).map((pass) => passOf(view, pass));
  const own = (measure: Measure, row: number) => (view.own(measure)[row] as number) / view.unit(measure);
  return Array.from({ length: view.rows }, (_, row) => [
    view.depth[row],
    view.name(row),
    types[row],
    ...passes.map((pass) => (pass[row] as number) / view.unit("micros")),
    own("micros", row),
    (view.total("micros")[row] as number) / view.unit("micros"),
    ...(["params", "float_ops", "bytes"] as const).map((measure) => own(measure, row)),
  ]);
}

/** The rows as native's message has them; those of the op view are a chain below the root's. */
function rowsOf(view: View): Row[] {
  const rows = Array.from({ length: view.rows }, (_, row) => rowOf(view, row));
  if (view.kind !== "op") return rows;
  const root: Fields = { name: ROOT_NAME };
  for (const [measure, field] of Object.entries(MULTI_FIELDS)) {
    put(root, `total_${field}`, view.grandTotal(measure as Measure));
  }
  return [[0, root], ...rows.map(([, fields], row): Row => [row + 1, fields])];
}

function rowOf(view: View, row: number): Row {
  const isSingle = view.kind === "scope" || view.kind === "graph";
  const fields: Fields = { name: view.name(row) };
  for (const [measure, field] of Object.entries(isSingle ? GRAPH_FIELDS : MULTI_FIELDS)) {
    put(fields, field, view.own(measure as Measure)[row] as number);
    put(fields, `total_${field}`, view.total(measure as Measure)[row] as number);
  }
  if (!isSingle) {
    const members = Array.from(view.membersOf(row), (node) => memberOf(view, node));
    return [view.depth[row] as number, { ...fields, ...(members.length > 0 && { graph_nodes: members }) }];
  }
  put(fields, "total_definition_count", view.definitions[row] as number);
  const node = view.node[row] as number;
  if (node >= 0) describeNode(fields, view, node);
  return [view.depth[row] as number, fields];
}

function memberOf(view: View, node: number): Fields {
  const fields: Fields = { name: view.profile.nodes.names[node], total_definition_count: "1" };
  for (const [measure, field] of Object.entries(GRAPH_FIELDS)) {
    const value = measures(view.profile, view.options).column(measure as Measure)[node] as number;
    put(fields, field, value);
    put(fields, `total_${field}`, value);
  }
  describeNode(fields, view, node);
  return fields;
}

function describeNode(fields: Fields, view: View, node: number): void {
  const { device, devices } = view.profile.nodes;
  const own = devices[device[node] as number];
  if (own !== undefined) fields.devices = [own];
  const shapes = inputShapes(view.profile, node, view.options.timing).map(shapeOf);
  if (shapes.length > 0) fields.input_shapes = Object.fromEntries(shapes.entries());
}

function shapeOf(shape: string | undefined): Fields {
  if (shape === undefined || shape === "unknown") return { unknown_rank: true };
  return { dim: shape.split("x").map((size) => (size === "0" ? {} : { size })) };
}

function put(fields: Fields, name: string, value: number): void {
  if (value !== 0) fields[name] = String(value);
}

async function unpacked(packed: string): Promise<Uint8Array> {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
