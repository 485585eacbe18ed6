// What went between tasks, whatever way it went: a row who sent, a column who got.

import type { Link } from "../data/cluster.ts";

/** The links of a sender and a receiver added up. */
export interface Cell extends Omit<Link, "kind"> {
  readonly kinds: readonly string[];
}

/** The tasks that sent and that got anything, in the order of the tasks, and the cells between them. */
export interface LinkMatrix {
  readonly sources: readonly string[];
  readonly targets: readonly string[];
  readonly cell: (source: string, target: string) => Cell | undefined;
  /** The most bytes of a cell. */
  readonly largest: number;
  /** How many senders and receivers there is no room for. */
  readonly others: number;
}

/** The matrix of the senders and receivers with the most bytes, at most so many of each. */
export function linkMatrix(links: readonly Link[], most: number, tasks: readonly string[]): LinkMatrix {
  const cells = new Map<string, Cell>();
  for (const link of links) {
    const key = keyOf(link.source, link.target);
    const before = cells.get(key);
    cells.set(key, before ? added(before, link) : { ...link, kinds: [link.kind] });
  }
  const sources = byBytes(links, ({ source }) => source);
  const targets = byBytes(links, ({ target }) => target);
  return {
    sources: inOrder(sources.slice(0, most), tasks),
    targets: inOrder(targets.slice(0, most), tasks),
    cell: (source, target) => cells.get(keyOf(source, target)),
    largest: Math.max(0, ...[...cells.values()].map(({ bytes }) => bytes)),
    others: Math.max(sources.length - most, 0) + Math.max(targets.length - most, 0),
  };
}

function keyOf(source: string, target: string): string {
  return JSON.stringify([source, target]);
}

function added(before: Cell, link: Link): Cell {
  return {
    source: before.source,
    target: before.target,
    kinds: [...new Set([...before.kinds, link.kind])],
    count: before.count + link.count,
    bytes: before.bytes + link.bytes,
    transfer_nanos: before.transfer_nanos + link.transfer_nanos,
    wait_nanos: before.wait_nanos + link.wait_nanos,
  };
}

function inOrder(names: readonly string[], tasks: readonly string[]): readonly string[] {
  return [...names].sort((one, other) => tasks.indexOf(one) - tasks.indexOf(other));
}

function byBytes(links: readonly Link[], end: (link: Link) => string): readonly string[] {
  const sums = new Map<string, number>();
  for (const link of links) sums.set(end(link), (sums.get(end(link)) ?? 0) + link.bytes);
  return [...sums].sort(([, one], [, other]) => other - one).map(([name]) => name);
}
