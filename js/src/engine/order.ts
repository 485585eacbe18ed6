// The order of rows: siblings by a key, each followed by what is below it.

import type { Indices, Numbers } from "./columns.ts";

/** Places in preorder under these parents (-1 for the root), siblings as they follow one another in `sequence`. */
export function ordered(sequence: Indices, parent: Indices): Indices {
  const firstBelow = new Int32Array(parent.length).fill(-1);
  const next = new Int32Array(parent.length).fill(-1);
  for (let i = sequence.length - 1; i >= 0; i--) {
    const place = sequence[i] as number;
    const above = parent[place] as number;
    if (above < 0) continue;
    next[place] = firstBelow[above] as number;
    firstBelow[above] = place;
  }
  const result = new Int32Array(sequence.length);
  for (let place = 0, count = 0; count < result.length; ) {
    result[count++] = place;
    if ((firstBelow[place] as number) >= 0) {
      place = firstBelow[place] as number;
      continue;
    }
    while (place > 0 && (next[place] as number) < 0) place = parent[place] as number;
    place = next[place] as number;
  }
  return result;
}

/** Sort places in place: by ascending key, ties in preorder. */
export function sortByKey(places: Indices, key: Numbers | Indices): Indices {
  return places.sort((one, other) => (key[one] as number) - (key[other] as number) || one - other);
}

/** The quickest way to compare these names by code points: the byte order of UTF-8, which is JavaScript's for most. */
export function byteOrder(names: readonly string[]): (one: string, other: string) => number {
  return names.some((name) => /[\ud800-\udfff]/.test(name)) ? compareNames : compareUnits;
}

function compareUnits(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Compare two names by code points. */
export function compareNames(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const difference = rank(one.charCodeAt(i)) - rank(other.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Puts the halves of the characters from 2^16 on after all others. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
