import { describe, expect, test } from "vitest";
import { withDefaults } from "../../data/options.ts";
import type { Options, ViewName } from "../../data/protocol.ts";
import { evaluate } from "../../engine/evaluate.ts";
import { profileOf } from "../../engine/testing.ts";
import { listingOf } from "../../state/listing.ts";
import { fitting, secondary, type TableColumn, tableColumns } from "./columns.ts";
import { tabSeparated } from "./table.tsx";

const MODEL = profileOf(`
  a/one = MatMul() 1500us;2500us 64B 10flops @gpu
  a/two = Relu()   500ns;500ns 8B @cpu
`);

function columns(kind: ViewName, options: Partial<Options> = {}, profile = MODEL): readonly TableColumn[] {
  const view = evaluate(profile, kind, withDefaults({ orderBy: "micros", ...options }));
  return tableColumns(
    listingOf(view, { rule: { share: 0 }, marks: new Uint8Array(0), zoom: 0, isMerging: true }),
  );
}

function cells(column: TableColumn | undefined, count: number): string[] {
  return Array.from({ length: count }, (_, row) => column?.text(row) ?? "");
}

describe("the columns", () => {
  test.each<[ViewName, Partial<Options>, string[]]>([
    ["scope", {}, ["own", "total time", "share", "memory", "runs", "FLOP"]],
    ["op", {}, ["own", "cumulative", "share", "memory", "runs", "FLOP"]],
    [
      "scope",
      { select: ["device", "occurrence", "params", "num_hidden_ops", "op_types"] },
      ["own", "total time", "share", "memory", "runs", "FLOP", "nodes", "hidden", "op types", "device"],
    ],
    ["scope", { select: ["peak_bytes"] }, ["own", "total time", "share", "memory", "runs", "FLOP"]],
  ])("of the %s view under %j are those with data", (kind, options, titles) => {
    expect(columns(kind, options).map(({ title }) => title)).toEqual(titles);
  });

  test("of a graph that never ran are about what it has", () => {
    const still = profileOf("v = VariableV2() 7params");
    expect(columns("scope", {}, still).map(({ title }) => title)).toEqual([
      "own",
      "total parameters",
      "share",
    ]);
  });
});

describe("the rates of layers", () => {
  const layered = (rates: readonly number[]): typeof MODEL => ({
    ...MODEL,
    late: (name: string) =>
      ({
        "layers.names": ["a", "b"],
        "layers.types": ["Dense", "Dense"],
        "layers.parent": Int32Array.of(-1, -1),
        "layers.layer": Int32Array.of(0, 1),
        "layers.role": Int32Array.of(0, 0),
        "nodes.moved_bytes": Float64Array.of(100, 100),
        "nodes.work_known": Int32Array.of(1, 1),
        "roof.rates": Float64Array.from(rates),
        "roof.words": ["a CPU", ""],
        "roof.step_nanos": Float64Array.of(9),
      })[name],
  });
  const cellsOf = (rates: readonly number[], key: string): string[] | undefined => {
    const found = columns("layers", {}, layered(rates)).find((column) => column.key === key);
    return found && cells(found, 3);
  };

  test("are float operations by time, also as a part of the peak", () => {
    // Of the layer a: 10 FLOP in 2 ms, of a peak of 20 kFLOP/s; b has none.
    expect(cellsOf([20_000, 9, 20_000, 9], "of_peak")).toEqual(["25.0 %", "25.0 %", "–"]);
    const gflops = columns("layers", {}, layered([])).find(({ key }) => key === "gflops");
    expect(Number(gflops?.plain(1))).toBeCloseTo(5e-6, 12);
    expect(gflops?.title).toBe("GFLOP/s");
  });

  test("have no part of a peak that is not known", () => {
    expect(cellsOf([], "of_peak")).toBeUndefined();
    expect(columns("scope", {}, layered([])).some(({ key }) => key === "gflops")).toBe(false);
  });
});

test("the types of kernels are told beside the plain ones", () => {
  const kernels = profileOf(`
    a/one = _MklNativeFusedConv2D() 2us
    a/Conv2D = _MklConv2D() 1us
  `);
  const scope = evaluate(kernels, "scope", withDefaults());
  const beside = Array.from({ length: 4 }, (_, row) => secondary(scope, row));
  expect(beside).toEqual(["", "", "_MklConv2D", "FusedConv2D · _MklNativeFusedConv2D"]);
  const op = evaluate(kernels, "op", withDefaults({ orderBy: "micros" }));
  expect(secondary(op, 0)).toBe("_MklNativeFusedConv2D · 1 node");
});

describe("a table has room for", () => {
  // 200 pixels a name, 68 and 104 its costs, then 62, 70, 54, 66, 56 and 140.
  const all = columns("scope", { select: ["occurrence", "device"] });
  test.each<[number, string[], string[]]>([
    [820, [], ["share", "memory", "runs", "FLOP", "nodes", "device"]],
    [819, [], ["share", "memory", "runs", "FLOP", "nodes"]],
    [624, [], ["share", "memory", "runs", "FLOP"]],
    [623, [], ["memory", "runs", "FLOP"]],
    [700, ["device"], ["memory", "runs", "device"]],
    [512, ["device"], ["device"]],
    [511, ["device"], []],
    [371, [], []],
    [0, [], []],
  ])("%i pixels when %j is asked for", (room, asked, titles) => {
    const [fits, others] = fitting(all, { room, widget: 1240 }, asked);
    // 372 pixels are a name and its costs; below them the total alone is in sight.
    const costs = room < 372 ? ["total time"] : ["own", "total time"];
    expect(fits.map(({ title }) => title)).toEqual([...costs, ...titles]);
    expect(new Set([...fits, ...others])).toEqual(new Set(all));
  });
  test("what is asked for, in a narrow widget", () => {
    const titles = (asked: string[]) =>
      fitting(all, { room: 620, widget: 640 }, asked)[0].map(({ title }) => title);
    expect(titles([])).toEqual(["own", "total time"]);
    expect(titles(["device"])).toEqual(["own", "total time", "device"]);
  });
});

test("cells are short, in full on hover", () => {
  const [own, total, share, memory] = columns("scope");
  // The root, the scope, its two nodes: means of two steps.
  expect(cells(own, 4)).toEqual(["–", "–", "2 ms", "500 ns"]);
  expect(cells(total, 4)).toEqual(["2.00 ms", "2.00 ms", "2 ms", "500 ns"]);
  expect(cells(share, 4)).toEqual(["100.0 %", "100.0 %", "100.0 %", "0.0 %"]);
  expect(cells(memory, 4)).toEqual(["72 B", "72 B", "64 B", "8 B"]);
  expect([total?.full(0), own?.full(3), memory?.full(0)]).toEqual(["2,000.5 µs", "0.5 µs", "72 B"]);
});

test("in op view the numbers are of the row, and only one column counts on", () => {
  const [own, cumulative, share, memory] = columns("op");
  expect(cells(own, 2)).toEqual(["2 ms", "500 ns"]);
  expect(cells(cumulative, 2)).toEqual(["2.00 ms", "500 ns"]);
  expect([cumulative?.full(0), cumulative?.full(1)]).toEqual(["2,000.5 µs", "0.5 µs"]);
  expect(cells(share, 2)).toEqual(["100.0 %", "0.0 %"]);
  expect(cells(memory, 2)).toEqual(["64 B", "8 B"]);
});

test("each view orders by the column it orders", () => {
  const orders = (kind: ViewName) => columns(kind).map(({ order }) => order);
  expect(orders("scope")).toEqual([null, "micros", null, "bytes", null, "float_ops"]);
  expect(orders("op")).toEqual(["micros", null, null, "bytes", null, "float_ops"]);
});

test("rows are copied with exact values, and no name makes a cell or a formula", () => {
  const odd = profileOf("=a/b = MatMul() 1500ns 64B");
  const view = evaluate(odd, "scope", withDefaults());
  const shown = columns("scope", {}, odd).filter(({ key }) => key === "own" || key === "bytes");
  expect(tabSeparated(view, shown, [1, 2])).toBe("'=a\t0\t64\n'=a/b\t1.5\t64");
});
