import { expect, test } from "vitest";
import { nameGroups, repeatsIn } from "./graph_folds.ts";

test("names are grouped by what they begin with up to a number", () => {
  const names = [
    "conv1_pad",
    "conv1_conv",
    "pool",
    "conv2_block1_1_conv",
    "conv2_block1_add",
    "conv2_block2_out",
  ];
  expect(nameGroups(names)).toEqual([
    { start: 0, end: 2, name: "conv1" },
    { start: 3, end: 6, name: "conv2" },
  ]);
});

test("what all begin with tells none of them apart, so that the next part does", () => {
  const names = ["conv2_block1_1_conv", "conv2_block1_add", "conv2_block2_1_conv", "conv2_block2_out"];
  expect(nameGroups(names)).toEqual([
    { start: 0, end: 2, name: "conv2_block1" },
    { start: 2, end: 4, name: "conv2_block2" },
  ]);
});

test("a name that ends in its number is no beginning of others", () => {
  expect(nameGroups(["dense_1", "dense_2", "dense_3"])).toEqual([]);
});

test.each([
  ["one of a structure, twelve times", `e${"b".repeat(12)}h`, [{ start: 1, period: 1, count: 12 }]],
  ["three in turn", "eabcabcabcabch", [{ start: 1, period: 3, count: 4 }]],
  ["twice is no repetition", "abab", []],
  ["three times is one", "ababab", [{ start: 0, period: 2, count: 3 }]],
  ["the rest after the last full round stays", "abababa", [{ start: 0, period: 2, count: 3 }]],
  [
    "two runs",
    "aaabbb",
    [
      { start: 0, period: 1, count: 3 },
      { start: 3, period: 1, count: 3 },
    ],
  ],
  ["nothing", "abcdef", []],
])("%s", (_, signatures, expected) => {
  expect(repeatsIn([...signatures])).toEqual(expected);
});

test("single ops of a type are no structure, but rounds of them are", () => {
  const isLarge = Array.from({ length: 6 }, () => false);
  expect(repeatsIn([..."aaaaaa"], isLarge)).toEqual([]);
  expect(repeatsIn([..."ababab"], isLarge)).toEqual([{ start: 0, period: 2, count: 3 }]);
});
