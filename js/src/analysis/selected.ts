// What is known of a selection: the sums over the graph nodes behind it, and of one node what it is.

import type { Nodes, Profile } from "../data/profile.ts";
import type { Timing } from "../data/protocol.ts";
import type { Numbers } from "../engine/columns.ts";
import { MEASURES, type Measure, type Measures } from "../engine/measures.ts";
import { inputShapes, type View } from "../engine/view.ts";
import { timesDisplayed } from "./costs.ts";
import { deviceLabel } from "./devices.ts";

/** A selection as numbers, in microseconds, bytes, runs and so on. */
export interface Selected {
  /** How many graph nodes are behind it. */
  readonly count: number;
  /** The node that takes the most time of them, -1 for none. */
  readonly costliest: number;
  /** The node that is selected itself, -1 if that is a scope, an op type, a frame or several things. */
  readonly node: number;
  readonly total: Readonly<Record<Measure, number>>;
  readonly types: readonly string[];
  readonly devices: readonly string[];
}

/** The sums over flagged nodes. */
export function selectedOf(
  profile: Profile,
  measures: Measures,
  names: readonly string[],
  flags: Uint8Array,
): Selected {
  const micros = measures.column("micros");
  return {
    ...nodesOf(profile, micros, names, flags),
    total: totalsOf(measures, flags),
    types: opTypesOf(profile, micros, flags),
    devices: devicesOf(profile, flags),
  };
}

/** The time of the flagged nodes that the rows of a view count themselves. */
export function microsInRows(view: View, flags: Uint8Array): number {
  const times = timesDisplayed(view);
  const micros = view.sums.measures.column("micros");
  const shown = micros.reduce((sum, each, node) => sum + (flags[node] && times[node] ? each : 0), 0);
  return shown / view.unit("micros");
}

function totalsOf(measures: Measures, flags: Uint8Array): Selected["total"] {
  const total = Object.fromEntries(MEASURES.map((measure) => [measure, 0])) as Record<Measure, number>;
  for (const measure of MEASURES) {
    const column = measures.column(measure);
    let sum = 0;
    for (let node = 0; node < flags.length; node++) if (flags[node]) sum += column[node] as number;
    total[measure] = sum / measures.unit(measure);
  }
  return total;
}

function nodesOf(
  { nodes }: Profile,
  micros: Numbers,
  names: readonly string[],
  flags: Uint8Array,
): Pick<Selected, "count" | "costliest" | "node"> {
  let [count, costliest, chosen] = [0, -1, -1];
  for (let node = 0; node < flags.length; node++) {
    if (!flags[node]) continue;
    count++;
    if (costliest < 0 || (micros[node] as number) > (micros[costliest] as number)) costliest = node;
    if (names.length === 1 && nodes.names[node] === names[0]) chosen = node;
  }
  return { count, costliest, node: chosen };
}

/** The op types of flagged nodes, those that take the most time first. */
function opTypesOf({ nodes }: Profile, micros: Numbers, flags: Uint8Array): readonly string[] {
  const times = new Map<string, number>();
  for (let node = 0; node < flags.length; node++) {
    const type = flags[node] ? nodes.ops[nodes.op[node] as number] : undefined;
    if (type) times.set(type, (times.get(type) ?? 0) + (micros[node] as number));
  }
  return [...times].sort(([, one], [, other]) => other - one).map(([type]) => type);
}

/** The devices of flagged nodes. */
function devicesOf({ nodes }: Profile, flags: Uint8Array): readonly string[] {
  const found = new Set<string>();
  for (let node = 0; node < flags.length; node++) {
    const device = flags[node] ? nodes.devices[nodes.device[node] as number] : undefined;
    if (device) found.add(deviceLabel(device, nodes.devices));
  }
  return [...found];
}

/** What goes in and comes out of a node: 64x784, 784x128 → 64x128; empty where neither is known. */
export function shapesOf(profile: Profile, node: number, timing: Timing): string {
  const { outputShapes, shapes } = profile.nodes;
  const inputs = inputShapes(profile, node, timing);
  const outputs = Array.from(
    outputShapes.values.subarray(outputShapes.start[node], outputShapes.start[node + 1]),
    (shape) => shapes[shape],
  );
  if (![...inputs, ...outputs].some(Boolean)) return "";
  const written = (each: readonly (string | undefined)[]): string =>
    each.map((shape) => shape?.replaceAll("x", "×") ?? "?").join(", ");
  return [written(inputs), written(outputs)].filter(Boolean).join(" → ");
}

/** A flag a node whose name or op type has the text in it, whatever the case; null if there is no text. */
export function nodesFound({ names, ops, op }: Nodes, text: string): Uint8Array | null {
  const sought = text.trim().toLowerCase();
  if (!sought) return null;
  const isSought = ops.map((each) => each.toLowerCase().includes(sought));
  return Uint8Array.from(names, (name, node) =>
    isSought[op[node] as number] || name.toLowerCase().includes(sought) ? 1 : 0,
  );
}
