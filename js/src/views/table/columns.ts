// The columns of the tree grid: their texts and descriptions, and how many of them fit.

import { deviceLabel } from "../../analysis/devices.ts";
import { peakRate } from "../../analysis/roofline.ts";
import { type Order, PASSES, type SelectColumn, type SelectColumn as Selected } from "../../data/protocol.ts";
import type { Indices, Numbers } from "../../engine/columns.ts";
import { layerTypes } from "../../engine/layers.ts";
import { BYTES, isMeasure, isPass, type Measure, type Summed } from "../../engine/measures.ts";
import { inputShapes, type View } from "../../engine/view.ts";
import { exact, plainType, share, short, visible } from "../../lib/format.ts";
import type { Listing } from "../../state/listing.ts";

/** A column: its header, and its cell of a row as shown, in full, and as a number alone. */
export interface TableColumn {
  readonly key: string;
  readonly title: string;
  readonly help: string;
  /** In pixels; the bars share with the names what is left. */
  readonly width: number;
  /** What `order_by` has to be for the rows to be in its order; null if they cannot be. */
  readonly order: Order | null;
  readonly isText?: boolean;
  readonly text: (row: number) => string;
  readonly full: (row: number) => string;
  readonly plain: (row: number) => string;
}

const NOTHING = "–";
// In pixels: what a name needs at least, and how wide widgets are whose tables have names and costs alone.
const LEAST_NAME = 200;
const NARROW = 640;
const LEAST_BAR = 104;
const TITLES: Readonly<Record<Summed, string>> = {
  forward_micros: "forward",
  backward_micros: "backward",
  update_micros: "update",
  micros: "time",
  accelerator_micros: "accelerator",
  cpu_micros: "cpu",
  bytes: "memory",
  peak_bytes: "peak",
  residual_bytes: "residual",
  output_bytes: "output",
  runs: "runs",
  float_ops: "FLOP",
  params: "parameters",
};
const WIDTHS: Partial<Record<Summed, number>> = {
  runs: 54,
  float_ops: 66,
  params: 80,
  accelerator_micros: 84,
  backward_micros: 78,
};
const HELP: Readonly<Record<Summed, string>> = {
  forward_micros: "execution time of the forward pass",
  backward_micros: "execution time of the backward pass",
  update_micros: "execution time of the updates of variables",
  micros: "execution time on accelerators and CPUs together",
  accelerator_micros: "execution time on accelerators",
  cpu_micros: "execution time on CPUs",
  bytes: "bytes requested from the allocator",
  peak_bytes: "bytes that ops held at the peak of each, added up",
  residual_bytes: "bytes still held when the op ended",
  output_bytes: "bytes of output",
  runs: "how often ops ran",
  float_ops: "float operations",
  params: "parameters of variables",
};
const TEXTS: readonly Selected[] = ["op_types", "device", "input_shapes"];

/** The columns after the name. */
export function tableColumns(listing: Listing): readonly TableColumn[] {
  const { view } = listing;
  const { select } = view.options;
  const passes = view.kind === "layers" ? PASSES.filter((pass) => view.grandTotal(pass) !== 0) : [];
  const others = measuresBeside(listing, select).filter((measure) => view.grandTotal(measure) !== 0);
  return [
    ownColumn(listing),
    totalColumn(listing),
    ...passes.map((pass) => measureColumn(listing, pass)),
    shareColumn(listing),
    ...others.map((measure) => measureColumn(listing, measure)),
    ...(view.kind === "layers" && view.grandTotal("float_ops") ? rateColumns(listing) : []),
    ...(select.includes("occurrence") ? nodeColumns(listing) : []),
    ...(select.includes("num_hidden_ops")
      ? [countColumn("num_hidden_ops", "hidden", view.hidden, "nodes below that are not shown")]
      : []),
    ...TEXTS.filter((column) => select.includes(column)).map((column) => textColumn(listing, column)),
  ];
}

/**
 * Those of the columns that there is room for: the total always, then own, those asked for, measures, and the rest. The
 * others follow out of sight.
 */
export function fitting(
  columns: readonly TableColumn[],
  { room, widget }: { readonly room: number; readonly widget: number },
  asked: readonly string[],
): readonly [inSight: readonly TableColumn[], others: readonly TableColumn[]] {
  const need = ({ key }: TableColumn): number => {
    if (key === "own" || key === "total") return key === "total" ? 4 : 3;
    if (isPass(key)) return 1.5;
    if (key === "gflops" || key === "of_peak") return 1.2;
    return asked.includes(key) ? 2 : Number(isMeasure(key));
  };
  let left = room - LEAST_NAME;
  const fits = (column: TableColumn): boolean => {
    left -= column.width;
    return need(column) > 3 || (left >= 0 && (widget > NARROW || need(column) > 1));
  };
  const kept = columns.toSorted((one, other) => need(other) - need(one)).filter(fits);
  const isKept = (column: TableColumn): boolean => kept.includes(column);
  return [columns.filter(isKept), columns.filter((column) => !isKept(column))];
}

/** The measures beside the one of the bars: the usual ones, and those asked for. */
function measuresBeside({ view, lead }: Listing, select: readonly Selected[]): readonly Measure[] {
  const asked = (measure: Measure): boolean => (select as readonly string[]).includes(measure);
  const parts: readonly Measure[] = [
    "accelerator_micros",
    ...(asked("cpu_micros") ? (["cpu_micros"] as const) : []),
  ];
  const bytes = BYTES.filter((measure) => measure === "bytes" || asked(measure));
  const usual: readonly Measure[] = [...parts, ...bytes, "runs", "float_ops"];
  const all =
    asked("params") || lead !== "micros" || view.kind === "layers" ? [...usual, "params" as const] : usual;
  return all.filter((measure) => measure !== lead);
}

function ownColumn({ view, lead, own }: Listing): TableColumn {
  const unit = view.unit(lead);
  return {
    key: "own",
    title: "own",
    help: `${HELP[lead]}, of the row itself`,
    width: 68,
    order: view.kind === "op" ? orderOf(lead) : null,
    ...numbers(lead, (row) => (own[row] as number) / unit),
  };
}

function totalColumn({ view, lead, total }: Listing): TableColumn {
  const unit = view.unit(lead);
  const isOp = view.kind === "op";
  return {
    key: "total",
    title: isOp ? "cumulative" : `total ${TITLES[lead]}`,
    help: `${HELP[lead]}, of the row and all ${isOp ? "rows after it; the bar is its own" : "below it; the darker part of the bar is its own"}`,
    width: LEAST_BAR,
    order: isOp ? null : orderOf(lead),
    ...numbers(lead, (row) => (total[row] as number) / unit),
  };
}

function shareColumn({ view, own, total, all }: Listing): TableColumn {
  const part = view.kind === "op" ? own : total;
  const percent = (row: number): number => (all ? (100 * (part[row] as number)) / all : 0);
  return {
    key: "share",
    title: "share",
    help: "share of the cost of all accounted nodes",
    width: 62,
    order: null,
    text: (row) => share(part[row] as number, all),
    full: (row) => `${percent(row)} %`,
    plain: (row) => String(percent(row)),
  };
}

function measureColumn({ view }: Listing, measure: Summed): TableColumn {
  const [unit, isOp] = [view.unit(measure), view.kind === "op"];
  const values = isOp ? view.own(measure) : view.total(measure);
  return {
    key: measure,
    title: TITLES[measure],
    help: `${HELP[measure]}${isOp ? "" : ", of the row and all below it"}`,
    width: WIDTHS[measure] ?? 70,
    order: orderOf(measure),
    ...numbers(measure, (row) => (values[row] as number) / unit),
  };
}

/** How fast a layer computes, and how near that is to the most that its machine can do. */
function rateColumns({ view }: Listing): readonly TableColumn[] {
  const [floatOps, micros] = [view.total("float_ops"), view.total("micros")];
  const peak = peakRate(view.profile);
  const rate = (row: number): number => {
    const seconds = (micros[row] as number) / view.unit("micros") / 1e6;
    return seconds > 0 ? (floatOps[row] as number) / view.unit("float_ops") / seconds : 0;
  };
  const column = (
    key: string,
    title: string,
    help: string,
    value: (row: number) => number,
    unit: string,
  ) => ({
    key,
    title,
    help,
    width: 76,
    order: null,
    text: (row: number) => (value(row) > 0 ? `${value(row).toFixed(1)}${unit}` : NOTHING),
    full: (row: number) => (value(row) > 0 ? `${value(row)} ${unit.trim() || title}` : NOTHING),
    plain: (row: number) => String(value(row)),
  });
  const told = "of the row and all below it";
  const gflops = column(
    "gflops",
    "GFLOP/s",
    `float operations a second, ${told}`,
    (row) => rate(row) / 1e9,
    "",
  );
  if (!peak) return [gflops];
  const help = `rate as a part of the most that the machine reached or the accelerator tells, ${told}`;
  return [gflops, column("of_peak", "of peak", help, (row) => (100 * rate(row)) / peak, " %")];
}

/** How many nodes a row stands for, which no row of the code view knows. */
function nodeColumns({ view }: Listing): readonly TableColumn[] {
  if (view.kind === "code") return [];
  const isOp = view.kind === "op";
  return [
    countColumn(
      "occurrence",
      "nodes",
      isOp ? view.memberCount : view.nodeCount,
      "graph nodes of the row and all below it",
    ),
  ];
}

function countColumn(key: Selected, title: string, counts: Numbers | Indices, help: string): TableColumn {
  return {
    key,
    title,
    help,
    width: 56,
    order: null,
    text: (row) => short("runs", counts[row] as number),
    full: (row) => String(counts[row]),
    plain: (row) => String(counts[row]),
  };
}

function textColumn({ view }: Listing, column: Selected): TableColumn {
  const text = (row: number): string => description(view, row, column);
  return {
    key: column,
    title: column.replace("_", " "),
    help: column.replace("_", " "),
    width: 140,
    order: null,
    isText: true,
    text,
    full: text,
    plain: text,
  };
}

function numbers(
  measure: Summed,
  value: (row: number) => number,
): Pick<TableColumn, "text" | "full" | "plain"> {
  return {
    text: (row) => (value(row) === 0 ? NOTHING : short(measure, value(row))),
    full: (row) => exact(measure, value(row)),
    plain: (row) => String(value(row)),
  };
}

/** No option orders rows by how often they ran. */
function orderOf(measure: Summed): Order | null {
  return measure === "runs" ? null : measure;
}

// A row of the op view may stand for all nodes of a graph, and its cell has room for a few.
const MOST_LOOKED_AT = 200;

/** A cell of one of the columns that are text. */
export function description(view: View, row: number, column: SelectColumn): string {
  const { nodes } = view.profile;
  const found = new Set<string>();
  for (const node of view.membersOf(row).subarray(0, MOST_LOOKED_AT)) {
    if (column === "op_types") found.add(nodes.ops[nodes.op[node] as number] ?? "");
    if (column === "device") found.add(deviceOf(view, node));
    if (column === "input_shapes") found.add(shapesOf(view, node));
  }
  found.delete("");
  return visible([...found].join(" | "));
}

/** What tells a row from its neighbours and its name does not say: its op type, its device. */
export function secondary(view: View, row: number): string {
  const { nodes } = view.profile;
  if (view.kind === "op") {
    const count = view.options.select.includes("occurrence") ? "" : counted(view.memberCount[row] as number);
    return [kernelOf(view.name(row)), count].filter(Boolean).join(" · ");
  }
  if (view.kind === "layers") {
    const type = layerTypes(view)[row] ?? "";
    return type === "scope" ? "" : visible(type);
  }
  const node = view.kind === "code" ? -1 : (view.node[row] as number);
  if (node < 0) return "";
  const name = view.name(row);
  const type = nodes.ops[nodes.op[node] as number] ?? "";
  const plain = plainType(type);
  const isSaid = name.slice(name.lastIndexOf("/") + 1).startsWith(plain);
  const device = nodes.devices.length > 1 ? deviceOf(view, node) : "";
  return visible([isSaid ? "" : plain, kernelOf(type), device].filter(Boolean).join(" · "));
}

/** The type itself where it is the name of a kernel; the plain one is told before it. */
function kernelOf(type: string): string {
  return plainType(type) === type ? "" : visible(type);
}

function counted(count: number): string {
  return count === 1 ? "1 node" : `${count.toLocaleString("en")} nodes`;
}

function deviceOf({ profile: { nodes } }: View, node: number): string {
  const device = nodes.devices[nodes.device[node] as number];
  return device ? deviceLabel(device, nodes.devices) : "";
}

function shapesOf(view: View, node: number): string {
  const shapes = inputShapes(view.profile, node, view.options.timing);
  return shapes.map((shape, index) => `${index}:${shape ?? "unknown"}`).join(" ");
}
