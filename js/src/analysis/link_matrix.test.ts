import { expect, test } from "vitest";
import type { Link } from "../data/cluster.ts";
import { linkMatrix } from "./link_matrix.ts";

function link(source: string, target: string, bytes: number, kind = "RecvTensor"): Link {
  return { source, target, kind, count: 1, bytes, transfer_nanos: 10, wait_nanos: 2 };
}

const LINKS = [
  link("b", "a", 100),
  link("b", "a", 20, "copy"),
  link("a", "b", 70),
  link("c", "a", 5),
  link("c", "b", 5),
];

test("what went one way by any means is one cell", () => {
  const { cell, largest, sources, targets, others } = linkMatrix(LINKS, 9, ["a", "b", "c"]);
  expect(cell("b", "a")).toMatchObject({
    count: 2,
    bytes: 120,
    transfer_nanos: 20,
    wait_nanos: 4,
    kinds: ["RecvTensor", "copy"],
  });
  expect(cell("a", "c")).toBeUndefined();
  expect(largest).toBe(120);
  expect([sources, targets, others]).toEqual([["a", "b", "c"], ["a", "b"], 0]);
});

test("where there are many, those with the most bytes are shown, in the order of the tasks", () => {
  const { sources, targets, others } = linkMatrix(LINKS, 2, ["b", "a", "c"]);
  expect([sources, targets, others]).toEqual([["b", "a"], ["b", "a"], 1]);
});

test("nothing went between tasks", () => {
  expect(linkMatrix([], 2, [])).toMatchObject({ sources: [], targets: [], largest: 0, others: 0 });
});
