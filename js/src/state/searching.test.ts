import { describe, expect, test } from "vitest";
import { scopeTree } from "../engine/scope.ts";
import { cutAtMatch, matchingPlaces, matchingRows, nextMatch } from "./searching.ts";

const TREE = scopeTree(["conv/Conv2D", "conv/bias", "dense/conv", "dense/conv_grad/Mul"]);

function found(text: string): string[] {
  const matching = matchingPlaces(TREE, text);
  return TREE.names.filter((_, place) => matching[place]);
}

describe("a place matches", () => {
  test.each([
    ["conv", ["conv", "conv/Conv2D", "dense/conv", "dense/conv_grad"]],
    ["CONV/b", ["conv/bias"]],
    ["dense/", ["dense/conv", "dense/conv_grad"]],
    ["mul", ["dense/conv_grad/Mul"]],
    ["(.*", []],
    ["", []],
  ])("%j where its own part of the name has a part in it", (text, names) => {
    expect(found(text)).toEqual(names);
  });
});

test("rows match in the order shown", () => {
  expect([...matchingRows(Int32Array.of(0, 3, 1, 2), Uint8Array.of(0, 1, 0, 1))]).toEqual([1, 2]);
});

test.each([
  [0, 1, 4],
  [4, 1, 7],
  [9, 1, 4],
  [4, -1, 9],
  [5, -1, 4],
  [0, -1, 9],
] as const)("from row %d in direction %d the next match is %d", (row, direction, match) => {
  expect(nextMatch(Int32Array.of(4, 7, 9), row, direction, false)).toBe(match);
});

test("a fresh search may stay, and one without matches goes nowhere", () => {
  expect(nextMatch(Int32Array.of(4, 7), 7, 1, true)).toBe(7);
  expect(nextMatch(Int32Array.of(4, 7), 5, 1, true)).toBe(7);
  expect(nextMatch(new Int32Array(0), 5, 1, false)).toBe(-1);
});

test.each([
  ["layer1/MatMul", "matmul", ["layer1/", "MatMul", ""]],
  ["MatMul_1", "x", ["MatMul_1", "", ""]],
  ["MatMul_1", "", ["MatMul_1", "", ""]],
])("%j is cut at %j", (text, wanted, parts) => {
  expect(cutAtMatch(text, wanted)).toEqual(parts);
});
