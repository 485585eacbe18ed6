import { expect, test } from "vitest";
import type { MovedTensor } from "../data/cluster.ts";
import { sortedTransfers, type TransferColumn, turned } from "./sorted_transfers.ts";

const TRANSFERS: readonly MovedTensor[] = [
  ["w", 100, 50, 0],
  ["x", 900, 900, 7],
  ["a", 100, 10, 3],
].map(([tensor, bytes, transfer_nanos, wait_nanos]) => ({
  tensor: tensor as string,
  kind: "RecvTensor",
  source: "/job:ps",
  target: "/job:worker",
  count: 1,
  bytes: bytes as number,
  transfer_nanos: transfer_nanos as number,
  wait_nanos: wait_nanos as number,
}));

test.each<[TransferColumn, boolean, string]>([
  ["tensor", false, "awx"],
  ["bytes", true, "xwa"],
  ["bytes", false, "wax"],
  ["time", true, "xwa"],
  ["rate", true, "awx"],
  ["wait", false, "wax"],
  ["kind", true, "wxa"],
])("by %s, descending: %s", (column, isDescending, order) => {
  const sorted = sortedTransfers(TRANSFERS, { column, isDescending });
  expect(sorted.map(({ tensor }) => tensor).join("")).toBe(order);
});

test("numbers fall at first, names rise, and the same column again turns round", () => {
  const bytes = turned({ column: "time", isDescending: true }, "bytes");
  expect(bytes).toEqual({ column: "bytes", isDescending: true });
  expect(turned(bytes, "bytes")).toEqual({ column: "bytes", isDescending: false });
  expect(turned(bytes, "tensor")).toEqual({ column: "tensor", isDescending: false });
});
