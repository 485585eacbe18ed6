// What is known of the nodes of a row beside numbers: their op types, devices and input shapes.

import { deviceLabel } from "../../analysis/devices.ts";
import type { SelectColumn } from "../../data/protocol.ts";
import { inputShapes } from "../../engine/shapes.ts";
import type { View } from "../../engine/view.ts";
import { visible } from "../../lib/visible.ts";

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
  if (view.kind === "op")
    return view.options.select.includes("occurrence") ? "" : counted(view.memberCount[row] as number);
  const node = view.kind === "code" ? -1 : (view.node[row] as number);
  if (node < 0) return "";
  const name = view.name(row);
  const type = nodes.ops[nodes.op[node] as number] ?? "";
  const isSaid = name.slice(name.lastIndexOf("/") + 1).startsWith(type);
  const device = nodes.devices.length > 1 ? deviceOf(view, node) : "";
  return visible([isSaid ? "" : type, device].filter(Boolean).join(" · "));
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
