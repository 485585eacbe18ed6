// The layers view: the layers of the model in its order, and what belongs to none; the time of each pass.

import type { Profile } from "../data/profile.ts";
import { PASSES } from "../data/protocol.ts";
import { Measures } from "./measures.ts";
import { ROOT_NAME, Tree } from "./tree.ts";
import type { View } from "./view.ts";

/** What a node does in a step, by the code in the column of roles; an instant belongs to the first that goes on. */
export const ROLES = ["forward", "backward", "update", "input", "transfers"] as const;

/** The layers as Python finds them; without these columns all nodes are in no layer. */
interface LayerColumns {
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly parent: Int32Array;
  readonly layer: Int32Array;
  readonly role: Int32Array;
}

/** The columns of a profile. */
export function layerColumns({ late, nodes }: Profile): LayerColumns {
  const names = late?.("layers.names", "texts", true) as readonly string[] | undefined;
  if (!names) {
    const none = new Int32Array(nodes.op.length);
    return { names: ["no layer"], types: [""], parent: Int32Array.of(-1), layer: none, role: none };
  }
  const [parent, layer, role] = ["layers.parent", "layers.layer", "layers.role"].map((name) =>
    late?.(name, "indices"),
  ) as [Int32Array, Int32Array, Int32Array];
  return { names, types: late?.("layers.types", "texts") as readonly string[], parent, layer, role };
}

/** The tree of layers: names are in the order of the model, which is that of the places. */
export function layersTree(profile: Profile): Tree {
  const { names, parent, layer } = layerColumns(profile);
  const rowStart = new Int32Array(names.length + 2);
  for (const each of layer) rowStart[each + 2] = (rowStart[each + 2] as number) + 1;
  for (let place = 1; place < rowStart.length; place++) {
    rowStart[place] = (rowStart[place] as number) + (rowStart[place - 1] as number);
  }
  const next = rowStart.slice();
  const rows = new Int32Array(layer.length);
  layer.forEach((each, node) => {
    const at = next[each + 1] as number;
    rows[at] = node;
    next[each + 1] = at + 1;
  });
  return new Tree(
    [ROOT_NAME, ...names],
    Int32Array.of(-1, ...Array.from(parent, (above) => above + 1)),
    rows,
    rowStart,
    Int32Array.from({ length: names.length + 1 }, (_, place) => place),
  );
}

/** The class of the layer of each row of a layers view; empty for what is none. */
export function layerTypes(view: View): string[] {
  const { types } = layerColumns(view.profile);
  const { origin } = view.forest.tree;
  return Array.from(view.places, (place) => types[(origin ? (origin[place] as number) : place) - 1] ?? "");
}

/** The measures with the time of each pass. */
export function withPasses(profile: Profile, found: Measures): Measures {
  const { role } = layerColumns(profile);
  const passes = PASSES.map((pass) => {
    const code = ROLES.findIndex((name) => pass.startsWith(name));
    return [pass, found.column("micros").map((value, node) => (role[node] === code ? value : 0))];
  });
  return new Measures({ ...found.columns, ...Object.fromEntries(passes) }, found.units);
}
