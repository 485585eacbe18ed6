import { expect, test } from "vitest";
import { coloured } from "./charts.ts";

test("names of colours are replaced, however deep, and nothing else", () => {
  const spec = {
    mark: { color: "var(--own)" },
    range: ["var(--text)", 3, null],
    title: "var(x) and var(--own)",
  };
  expect(coloured(spec, (name) => `<${name}>`)).toEqual({
    mark: { color: "<--own>" },
    range: ["<--text>", 3, null],
    title: "var(x) and var(--own)",
  });
});
