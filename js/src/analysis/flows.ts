// The arrows of a slice: from the executions that made what it takes, and to those that take what it makes.

import { cacheOf, type Lists, type Profile } from "../data/profile.ts";
import type { Layout, Slices } from "./timeline_layout.ts";

/** An arrow between two rows of the slices: executions, or transfers. */
interface Flow {
  readonly source: number;
  readonly target: number;
}

const MOST_FLOWS = 64;

/** The arrows to and from a row of the slices, which is in the layout; those of the largest of many. */
export function flowsOf(profile: Profile, slices: Slices, layout: Layout, row: number): readonly Flow[] {
  const rows = rowsByNode(profile, slices);
  const { node, step, firstTransfer } = slices;
  const { start } = layout;
  const [of, inStep] = [node[row] as number, step[row] as number];
  if (of < 0) return [];
  const isTransfer = row >= firstTransfer;
  const began = start[row] as number;
  // An op that runs beside another one may take its tensor before all of it is done, but none that is on its way.
  const made = isTransfer ? began + (slices.durationNanos[row] as number) : began;
  const isThere = (each: number) =>
    each < firstTransfer && step[each] === inStep && each !== row && (slices.startNanos[each] as number) >= 0;
  const nearest = (of: number, by: 1 | -1, from: number): number => {
    let found = -1;
    for (const each of listed(rows, of)) {
      const away = by * ((start[each] as number) - from);
      if (isThere(each) && away >= 0 && (found < 0 || away < by * ((start[found] as number) - from)))
        found = each;
    }
    return found;
  };
  const makers = isTransfer
    ? [of]
    : [...new Set(listed(profile.nodes.inputs, of))].filter((each) => each >= 0);
  const takers = [...new Set(listed(consumersOf(profile), of))];
  const before = makers.map((each) => ({ source: nearest(each, -1, began), target: row }));
  const after = takers.map((each) => ({ source: row, target: nearest(each, 1, made) }));
  const moved = isTransfer
    ? []
    : transfersFrom(slices, of, inStep).map((target) => ({ source: row, target }));
  return [...before, ...after, ...moved]
    .filter(({ source, target }) => source >= 0 && target >= 0)
    .slice(0, MOST_FLOWS);
}

function transfersFrom({ node, step, firstTransfer }: Slices, of: number, inStep: number): number[] {
  const found: number[] = [];
  for (let row = firstTransfer; row < node.length; row++)
    if (node[row] === of && step[row] === inStep) found.push(row);
  return found;
}

function listed({ start, values }: Lists, at: number): Int32Array {
  return values.subarray(start[at], start[at + 1]);
}

/** The rows of the slices of each node. */
function rowsByNode(profile: Profile, { node }: Slices): Lists {
  return cacheOf(profile).kept("slices by node", () => grouped(node, profile.nodes.op.length));
}

/** The nodes that take what each node makes. */
export function consumersOf(profile: Profile): Lists {
  return cacheOf(profile).kept("consumers", () => {
    const { start, values } = profile.nodes.inputs;
    const { start: first, values: at } = grouped(values, profile.nodes.op.length);
    const taker = new Int32Array(values.length);
    for (let node = 0; node + 1 < start.length; node++) taker.fill(node, start[node], start[node + 1]);
    return { start: first, values: at.map((each) => taker[each] as number) };
  });
}

/** The places of each value of a column, those below 0 left out. */
function grouped(column: Int32Array, size: number): Lists {
  const start = new Int32Array(size + 1);
  for (const value of column) if (value >= 0) start[value + 1] = (start[value + 1] as number) + 1;
  for (let value = 0; value < size; value++)
    start[value + 1] = (start[value + 1] as number) + (start[value] as number);
  const next = start.slice();
  const values = new Int32Array(start[size] as number);
  column.forEach((value, place) => {
    if (value < 0) return;
    values[next[value] as number] = place;
    next[value] = (next[value] as number) + 1;
  });
  return { start, values };
}
