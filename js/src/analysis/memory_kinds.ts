// What memory is held for: weights, gradients and other kinds, by the rule of tfprof_widget/analysis/account/memory.py.

import { cacheOf, type Profile } from "../data/profile.ts";
import { damaged } from "../data/wire.ts";
import { layerColumns, ROLES } from "../engine/layers.ts";
import { consumersOf } from "./flows.ts";

/** The kinds, in the order in which they are listed. */
export const KINDS = [
  "weights",
  "gradients",
  "optimizer state",
  "activations",
  "inputs",
  "temporary",
  "unknown",
] as const;

/** For what memory is held. */
export type HeldKind = (typeof KINDS)[number];

/** The custom property that has the colour of each kind; those of passes are the same as everywhere. */
export const KIND_COLOURS: Readonly<Record<HeldKind, string>> = {
  weights: "--op-layout",
  gradients: "--backward",
  "optimizer state": "--update",
  activations: "--forward",
  inputs: "--input",
  temporary: "--python",
  unknown: "--rest",
};

/** What a variable holds, before a step as after it; its node is -1 if it has no row of its own. */
interface HeldVariable {
  readonly node: number;
  readonly device: number;
  readonly kind: HeldKind;
  readonly bytes: number;
}

/** What variables hold; nothing where results of older versions do not tell. */
export function variablesOf(profile: Profile): readonly HeldVariable[] {
  return cacheOf(profile).kept("variables", () => {
    const { late, nodes } = profile;
    const kinds = late?.("variables.kinds", "texts", true) as readonly HeldKind[] | undefined;
    if (!late || !kinds) return [];
    const [kind, node, device] = ["kind", "node", "device"].map((name) =>
      late(`variables.${name}`, "indices"),
    ) as [Int32Array, Int32Array, Int32Array];
    const bytes = late("variables.bytes", "numbers") as Float64Array;
    const isWithin = (column: Int32Array, least: number, size: number) =>
      column.length === bytes.length && column.every((each) => each >= least && each < size);
    const isWhole =
      isWithin(kind, 0, kinds.length) &&
      isWithin(node, -1, nodes.op.length) &&
      isWithin(device, -1, nodes.devices.length);
    if (!isWhole || !bytes.every(Number.isFinite)) throw damaged("the variables do not fit");
    return Array.from(bytes, (size, row) => ({
      node: node[row] as number,
      device: device[row] as number,
      kind: kinds[kind[row] as number] as HeldKind,
      bytes: size,
    }));
  });
}

/** Whether it is known what nodes do in a step, without which kinds cannot be told. */
export function knowsRoles({ late }: Profile): boolean {
  return late?.("layers.names", "texts", true) !== undefined;
}

const INPUT_TYPES = ["Placeholder", "_Arg"];

/** For what an op holds memory; that of one that still runs may be a scratch of its own, unless another op takes its result. */
export function kindOf(profile: Profile, node: number, isOver: boolean): HeldKind {
  const { nodes } = profile;
  const role = ROLES[layerColumns(profile).role[node] ?? -1];
  if (role === "input" || INPUT_TYPES.includes(nodes.ops[nodes.op[node] as number] ?? "")) return "inputs";
  const { start } = consumersOf(profile);
  const hasOutput = (start[node] as number) < (start[node + 1] as number);
  if (role === "update" || (!isOver && !hasOutput)) return "temporary";
  if (role === "backward") return "gradients";
  return role === "forward" ? "activations" : "unknown";
}
