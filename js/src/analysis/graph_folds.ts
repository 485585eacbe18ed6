// Finds what repeats among siblings of a graph: names with the same beginning, and runs of the same structure.

/** Siblings from `start` up to `end` whose names begin with the same text. */
interface NameGroup {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

/** `count` runs of `period` siblings each, one after the other, of the same structure. */
export interface Repeat {
  readonly start: number;
  readonly period: number;
  readonly count: number;
}

const LEAST_REPEATS = 3;
const LONGEST_PERIOD = 32;

/**
 * Groups of neighbours such as `conv2_block1_1_conv` and `conv2_block1_1_bn`, by the shortest beginning that ends in a
 * number; what all siblings begin with (`known` letters of it at least) tells none of them apart.
 */
export function nameGroups(names: readonly string[], known = 0): readonly NameGroup[] {
  const beginnings = names.map((name) => beginningOf(name, known));
  const [first = ""] = beginnings;
  if (first && names.length > 1 && beginnings.every((each) => each === first)) {
    return nameGroups(names, first.length);
  }
  const groups: NameGroup[] = [];
  for (let start = 0; start < names.length; ) {
    const name = beginnings[start] as string;
    let end = start + 1;
    while (name && beginnings[end] === name) end++;
    if (end - start > 1) groups.push({ start, end, name });
    start = end;
  }
  return groups;
}

/** The name up to the first part with a digit in it that ends behind the letters already known; empty if that is all of it. */
function beginningOf(name: string, known: number): string {
  for (const { index, 0: part } of name.matchAll(/[^_\-./]+/g)) {
    const end = index + part.length;
    if (end > known && /\d/.test(part)) return end < name.length ? name.slice(0, end) : "";
  }
  return "";
}

/**
 * Runs of siblings that repeat, by their signatures: the longest first run wins, then the shorter period. A single
 * sibling that repeats counts only if it `isLarge`: twelve ops of a type are no structure.
 */
export function repeatsIn(
  signatures: readonly string[],
  isLarge: readonly boolean[] = [],
): readonly Repeat[] {
  const found: Repeat[] = [];
  for (let start = 0; start < signatures.length; ) {
    const best = longestAt(signatures, start, isLarge[start] ?? true);
    if (best) found.push(best);
    start += best ? best.period * best.count : 1;
  }
  return found;
}

function longestAt(signatures: readonly string[], start: number, isLarge: boolean): Repeat | undefined {
  let best: Repeat | undefined;
  const most = Math.min(LONGEST_PERIOD, Math.floor((signatures.length - start) / LEAST_REPEATS));
  for (let period = isLarge ? 1 : 2; period <= most; period++) {
    let end = start + period;
    while (end < signatures.length && signatures[end] === signatures[end - period]) end++;
    const count = Math.floor((end - start) / period);
    if (count < LEAST_REPEATS || period * count <= (best ? best.period * best.count : 0)) continue;
    if (period > 1 && isConstant(signatures, start, period)) continue;
    best = { start, period, count };
  }
  return best;
}

/** Whether a period is one signature again and again, of which a shorter period says all there is to say. */
function isConstant(signatures: readonly string[], start: number, period: number): boolean {
  for (let at = start + 1; at < start + period; at++) {
    if (signatures[at] !== signatures[start]) return false;
  }
  return true;
}
