import { expect, test } from "vitest";
import { visible, visibleLines } from "./visible.ts";

test.each([
  ["conv1/λ 日本 😀", "conv1/λ 日本 😀"],
  ["\x1b[2J\0", "\\x1b[2J\\x00"],
  ["\u202egnp.exe", "\\u202egnp.exe"],
  ["a\tb\r\nc", "a\\tb\\r\\nc"],
  ["a\u00a0b\ufeff", "a\\xa0b\\ufeff"],
  ["half \ud83d", "half \\ud83d"],
  ["tag \u{e0041}", "tag \\U000e0041"],
  ["👩‍👩‍👧", "👩‍👩‍👧"],
])("visible of %j", (name, shown) => {
  expect(visible(name)).toBe(shown);
});

test("lines of a text's own stay", () => {
  expect(visibleLines("<svg>\n\x07")).toBe("<svg>\n\\x07");
});
