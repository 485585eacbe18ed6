// Checks the columns of a profile where they come in: views walk them by their indices, and must not run astray.

import { ProfileError } from "./errors.ts";
import type { Lists } from "./profile.ts";

/** How many entries what columns count or point into has, by its name; grows as columns are read. */
export type Counts = Record<string, number>;

/** What to say of columns that cannot be read, whoever damaged them. */
export function damaged(reason: string): ProfileError {
  return new ProfileError(`the profile's columns are damaged: ${reason}; save or send the result again`);
}

/** Refuse a column that has not an entry for each row; the first column of the rows tells how many there are. */
export function checkRows(name: string, count: number, rows: string, counts: Counts): void {
  counts[rows] ??= count;
  if (count !== counts[rows]) throw damaged(`${name} has ${count} entries, for ${counts[rows]} ${rows}`);
}

/** Refuse a number that is none. */
export function checkNumbers(name: string, column: Float64Array): void {
  if (!column.every(Number.isFinite)) throw damaged(`${name} has a number without measure`);
}

/** Refuse an index beyond what the column points into; a question mark says that -1 stands for what is absent. */
export function checkIndices(name: string, column: Int32Array, target: string, counts: Counts): void {
  const [into = "", ...absent] = target.split("?");
  const size = counts[into] as number;
  for (const index of column) {
    if (index < -absent.length || index >= size) throw damaged(`${name} has the index ${index}, of ${size}`);
  }
}

/** Refuse lists that do not lie one after another. */
export function checkLists(name: string, { start, values }: Lists): void {
  const isInOrder = start.every((each, list) => each >= (start[list - 1] ?? 0));
  if (start[0] !== 0 || !isInOrder || start.at(-1) !== values.length) {
    throw damaged(`the lists of ${name} do not fit`);
  }
}
