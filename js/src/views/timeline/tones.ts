// Which colour each slice has: its op type's category, receding where something else is searched for or selected.

import { categoryOf } from "../../analysis/op_categories.ts";
import type { Slices } from "../../analysis/slices.ts";
import type { Layout } from "../../analysis/timeline_layout.ts";
import type { Nodes, Profile } from "../../data/profile.ts";
import { type PaintedLane, RECEDING, TRANSFER } from "./spans.ts";

/** A flag a node whose name or op type has the text in it, whatever the case; null if there is no text. */
export function nodesFound({ names, ops, op }: Nodes, text: string): Uint8Array | null {
  const sought = text.trim().toLowerCase();
  if (!sought) return null;
  const isSought = ops.map((each) => each.toLowerCase().includes(sought));
  return Uint8Array.from(names, (name, node) =>
    isSought[op[node] as number] || name.toLowerCase().includes(sought) ? 1 : 0,
  );
}

/** What is flagged in either; null if there are no flags at all. */
export function either(one: Uint8Array | null, other: Uint8Array | null): Uint8Array | null {
  if (!one || !other) return one ?? other;
  return one.map((flag, node) => flag | (other[node] as number));
}

/** The lanes of a layout, device by device, with their colours; nodes that are not `meant` recede. */
export function paintedLanes(
  { nodes }: Pick<Profile, "nodes">,
  executions: Pick<Slices, "node">,
  layout: Layout,
  meant: Uint8Array | null,
): PaintedLane[] {
  const categories = nodes.ops.map(categoryOf);
  const ofNode = Uint8Array.from(nodes.op, (op, node) => {
    const category = categories[op] ?? categoryOf("");
    return meant && !meant[node] ? category + RECEDING : category;
  });
  return layout.tracks.flatMap(({ lanes }) =>
    lanes.map((lane) => {
      const colour = new Uint8Array(lane.execution.length);
      for (let slice = 0; slice < colour.length; slice++) {
        if (lane.isTransfers) {
          const node = executions.node[lane.execution[slice] as number] as number;
          colour[slice] = meant && !meant[node] ? TRANSFER + RECEDING : TRANSFER;
          continue;
        }
        colour[slice] = ofNode[executions.node[lane.execution[slice] as number] as number] as number;
      }
      return { lane, colour };
    }),
  );
}
