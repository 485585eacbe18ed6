// The op view: a row an op type, each total its own and that of all rows after it.

import { expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Options } from "../data/protocol.ts";
import { evaluate } from "./evaluate.ts";
import { profileOf, shown } from "./testing.ts";

const PROFILE = profileOf(`
  a = Add() 1us
  b = MatMul() 10us 25params
  c = MatMul() 20us +mine
  d = Relu() 5us
  e = Add() 2us
  f = Never()
  g = Relu()
  h = Relu()
`);

test.each<[string, Partial<Options>, string]>([
  ["types in byte order with totals from each row on", {}, "Add 3/38\nMatMul 30/35\nNever 0/5\nRelu 5/5"],
  ["the costliest first", { orderBy: "micros" }, "MatMul 30/38\nRelu 5/8\nAdd 3/3\nNever 0/0"],
  ["by the number of nodes", { orderBy: "occurrence" }, "Relu 5/38\nAdd 3/33\nMatMul 30/30\nNever 0/0"],
  ["depth 0 is one row", { maxDepth: 0 }, "Add 3/38"],
  ["depth 1 is two", { maxDepth: 1, orderBy: "micros" }, "MatMul 30/38\nRelu 5/8"],
  [
    "start and trim cut the list",
    { startNameRegexes: ["Mat.*"], trimNameRegexes: ["Relu"] },
    "MatMul 30/35\nNever 0/5",
  ],
  ["start at nothing", { startNameRegexes: ["nothing"] }, ""],
  ["start at all", { startNameRegexes: [] }, "Add 3/38\nMatMul 30/35\nNever 0/5\nRelu 5/5"],
  ["depth from the start row", { startNameRegexes: ["Never"], maxDepth: 1 }, "Never 0/5\nRelu 5/5"],
  ["show and hide", { showNameRegexes: ["A.*", "R.*"], hideNameRegexes: ["Add"] }, "Relu 5/5"],
  [
    "totals of what is shown only",
    { hideNameRegexes: ["MatMul"], accountDisplayedOpOnly: true },
    "Add 3/8\nNever 0/5\nRelu 5/5",
  ],
  ["thresholds look at the total", { minMicros: 6 }, "Add 3/38\nMatMul 30/35"],
  ["parameters too", { minParams: 1 }, "Add 3/38\nMatMul 30/35"],
  ["occurrence is of graph nodes", { minOccurrence: 3 }, "Relu 5/5"],
  ["only what is accounted", { accountTypeRegexes: ["mine"] }, "MatMul 20/20"],
  ["nothing accounted", { accountTypeRegexes: ["nothing"] }, ""],
  ["two regexes count once", { accountTypeRegexes: ["mine", "Mat.*"] }, "MatMul 30/30"],
  [
    "but twice by native's clock",
    { accountTypeRegexes: ["mine", "Mat.*"], timing: "tfprof" },
    "MatMul 50/50",
  ],
])("%s", (_, options, rows) => {
  expect(shown(PROFILE, "op", options)).toBe(rows);
});

test("the grand total is there though no row is", () => {
  const hidden = { hideNameRegexes: [".*"] };
  const view = evaluate(PROFILE, "op", withDefaults(hidden));
  expect([view.rows, view.kept, view.of]).toEqual([0, 0, 4]);
  expect(view.grandTotal("micros")).toBe(38 * view.unit("micros"));
  const alone = evaluate(PROFILE, "op", withDefaults({ ...hidden, accountDisplayedOpOnly: true }));
  expect(alone.grandTotal("micros")).toBe(0);
});

test("definitions are the nodes of a row and of all after it", () => {
  const view = evaluate(PROFILE, "op", withDefaults({ orderBy: "micros" }));
  expect(Array.from(view.definitions)).toEqual([8, 6, 3, 1]);
  expect(Array.from(view.memberCount)).toEqual([2, 3, 2, 1]);
  expect(Array.from(view.membersOf(1))).toEqual([3, 6, 7]);
  expect(Array.from(view.hidden)).toEqual([0, 0, 0, 0]);
  expect(Array.from(view.parent)).toEqual([-1, -1, -1, -1]);
});
