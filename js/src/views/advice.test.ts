import { expect, test } from "vitest";
import type { Evidence } from "../data/graphs.ts";
import { OPTIONS, type Options } from "../data/protocol.ts";
import { optionsShowing } from "./advice.tsx";

const USUAL = Object.fromEntries(
  OPTIONS.map(({ key, default: usual }) => [key, usual]),
) as unknown as Options;

function evidence(options: Evidence["options"]): Evidence {
  return { view: "op", options, selection: [] };
}

test("the options that evidence names, by Python's names, are set", () => {
  const options = optionsShowing(evidence({ order_by: "params", show_name_regexes: ["Pad"] }), USUAL);
  expect(options).toEqual({ ...USUAL, orderBy: "params", showNameRegexes: ["Pad"] });
});

test("what the widget was made with stays, but not what could hide the evidence", () => {
  const initial: Options = {
    ...USUAL,
    orderBy: "micros",
    maxDepth: 300,
    minMicros: 10,
    step: 2,
    runNameRegexes: ["fit"],
    hideNameRegexes: [".*Pad.*"],
  };
  expect(optionsShowing(evidence({}), initial)).toEqual({ ...USUAL, orderBy: "micros", maxDepth: 300 });
});
