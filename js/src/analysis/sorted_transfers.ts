// The costliest transfers in the order that a column's head asks for.

import type { MovedTensor } from "../data/cluster.ts";

/** The columns of the table. */
export type TransferColumn =
  | "tensor"
  | "kind"
  | "source"
  | "target"
  | "count"
  | "bytes"
  | "time"
  | "rate"
  | "wait";

/** By which column, and which way. */
export interface Sorting {
  readonly column: TransferColumn;
  readonly isDescending: boolean;
}

const VALUES: Readonly<Record<TransferColumn, (transfer: MovedTensor) => string | number>> = {
  tensor: ({ tensor }) => tensor,
  kind: ({ kind }) => kind,
  source: ({ source }) => source,
  target: ({ target }) => target,
  count: ({ count }) => count,
  bytes: ({ bytes }) => bytes,
  time: ({ transfer_nanos }) => transfer_nanos,
  rate: ({ bytes, transfer_nanos }) => (transfer_nanos > 0 ? bytes / transfer_nanos : 0),
  wait: ({ wait_nanos }) => wait_nanos,
};

/** The transfers, sorted; those that are equal stay in their order. */
export function sortedTransfers(
  transfers: readonly MovedTensor[],
  { column, isDescending }: Sorting,
): readonly MovedTensor[] {
  const value = VALUES[column];
  const sign = isDescending ? -1 : 1;
  return [...transfers].sort((one, other) => {
    const [left, right] = [value(one), value(other)];
    return left === right ? 0 : left < right ? -sign : sign;
  });
}

/** What a click on a column's head makes of the sorting: numbers fall at first, names rise, and the same again turns it. */
export function turned(sorting: Sorting, column: TransferColumn): Sorting {
  if (sorting.column === column) return { column, isDescending: !sorting.isDescending };
  return { column, isDescending: !["tensor", "kind", "source", "target"].includes(column) };
}
