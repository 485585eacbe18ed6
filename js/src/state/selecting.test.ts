import { expect, test } from "vitest";
import { selectionAfter } from "./selecting.ts";

test.each([
  [[], "a", false, ["a"]],
  [["a"], "a", false, []],
  [["a", "b"], "a", false, ["a"]],
  [["a"], "b", false, ["b"]],
  [["a"], "b", true, ["a", "b"]],
  [["a", "b"], "a", true, ["b"]],
])("of %j, a click on %s, adding: %s", (selection, name, adds, expected) => {
  expect(selectionAfter(selection, name, adds)).toEqual(expected);
});
