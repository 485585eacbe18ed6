// Finding rows by a part of their name: which places match, and where in what is shown of a name the match is.

import type { Flags, Indices } from "../engine/columns.ts";
import type { Tree } from "../engine/tree.ts";

/** Whether each place matches: its name holds the text, and not only the part of it that the place above has too. */
export function matchingPlaces({ names, parent }: Tree, text: string): Flags {
  const found = new Uint8Array(names.length);
  if (!text) return found;
  const wanted = text.toLowerCase();
  for (let place = 1; place < found.length; place++) {
    const last = (names[place] as string).toLowerCase().lastIndexOf(wanted);
    if (last < 0) continue;
    const above = names[parent[place] as number] as string;
    const inherited = (names[place] as string).startsWith(`${above}/`) ? above.length + 1 : 0;
    if (last + wanted.length >= inherited) found[place] = 1;
  }
  return found;
}

/** The rows whose place matches, in the order shown. */
export function matchingRows(places: Indices, matching: Flags): Indices {
  const found = new Int32Array(places.length);
  let count = 0;
  for (let row = 0; row < places.length; row++) if (matching[places[row] as number]) found[count++] = row;
  return found.slice(0, count);
}

/** The match to go to from a row: the next one, round and round; the row itself only if `isFresh`. */
export function nextMatch(matches: Indices, row: number, direction: 1 | -1, isFresh: boolean): number {
  if (!matches.length) return -1;
  const at = matches.findIndex((match) => match >= row);
  const onward = at < 0 ? matches.length : at;
  const isThere = matches[onward] === row;
  const next = direction < 0 ? onward - 1 : onward + (isThere && !isFresh ? 1 : 0);
  return matches[(next + matches.length) % matches.length] as number;
}

/** A text cut before and after what is found in it first; all in the first part where nothing is. */
export function cutAtMatch(
  text: string,
  wanted: string,
): readonly [before: string, match: string, after: string] {
  const at = wanted ? text.toLowerCase().indexOf(wanted.toLowerCase()) : -1;
  if (at < 0) return [text, "", ""];
  return [text.slice(0, at), text.slice(at, at + wanted.length), text.slice(at + wanted.length)];
}
