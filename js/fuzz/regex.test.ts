// Regexes of any spelling: a RegexError says what is wrong; the others match as JavaScript's own do, in steps that are counted.

import fc from "fast-check";
import { expect, test } from "vitest";
import { Regex } from "../src/engine/regex.ts";
import { RegexError } from "../src/engine/regex_classes.ts";
import { PATIENCE_MILLISECONDS, runs, undocumented } from "./runs.ts";

const PIECES = [
  ...("ab/.*+?|()[]{}^$\\-,:1é😀\n".match(/./gsu) ?? []),
  ...[
    "\\d",
    "\\pL",
    "\\p{Greek}",
    "\\Q",
    "\\E",
    "\\x{41}",
    "[[:alpha:]]",
    "(?i)",
    "(?P<n>",
    "(?:",
    "{2,3}",
    "{1000}",
    "\\b",
    "\\z",
  ],
];
const NAMES = ["", "a", "b", "ab", "aab", "a/b", "aaaaaaaaaaaaaaaaaaaaaaaa!", "é", "😀", "\n"];

const name = fc.array(fc.constantFrom("a", "b", "c", "/"), { maxLength: 8 }).map((all) => all.join(""));
/** Regexes of what RE2 and JavaScript have alike. */
const { regex: common } = fc.letrec<{ regex: string }>((tie) => ({
  regex: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.constantFrom("a", "b", ".", "[ab]", "[^a]", "[a-c]", "\\w", "\\W", "\\/", ""),
    fc.tuple(tie("regex"), tie("regex")).map((both) => both.join("")),
    fc.tuple(tie("regex"), tie("regex")).map((both) => `(?:${both.join("|")})`),
    fc
      .tuple(tie("regex"), fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{0,}", "*?"))
      .map(([part, count]) => `(${part})${count}`),
  ),
}));

test(
  "any text is a regex, or is refused",
  () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(fc.constantFrom(...PIECES), { maxLength: 20 }).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(text, (written) => {
        try {
          const regex = new Regex(written);
          for (const each of NAMES) regex.matches(each);
        } catch (error) {
          const slip = undocumented(error, RegexError);
          if (slip) throw slip;
        }
      }),
      runs(150),
    );
  },
  PATIENCE_MILLISECONDS,
);

test(
  "what matches is what JavaScript matches",
  () => {
    fc.assert(
      fc.property(common, fc.array(name, { maxLength: 5 }), (written, names) => {
        const [ours, theirs] = [new Regex(written), new RegExp(`^(?:${written})$`, "u")];
        expect(names.filter((each) => ours.matches(each))).toEqual(names.filter((each) => theirs.test(each)));
      }),
      runs(500),
    );
  },
  PATIENCE_MILLISECONDS,
);

test.each([
  "(a+)+",
  "(a|a)*",
  "(a|aa)+",
  "(a*)*b",
  "(.*a){12}",
  "([a-z]+)*x",
  "(a?){40}a{40}",
  "(?:.*.*)*=",
  "(a{1,30}){1,30}",
])("%s, which takes exponential time elsewhere, matches 100,000 characters", (written) => {
  const regex = new Regex(written);
  expect(regex.matches(`${"a".repeat(100_000)}!`)).toBe(false);
});

test.each([
  ["(", 2_000],
  ["(?:", 2_000],
  ["[", 100_000],
  ["[a", 100_000],
  ["{", 100_000],
  ["a{1000}", 2_000],
  ["(a|b){1000}", 2_000],
  ["\\Q", 100_000],
  ["a|", 20_000],
  ["a*", 20_000],
])("%s, %i times over, is taken or refused", (piece, count) => {
  try {
    new Regex(piece.repeat(count)).matches("a");
  } catch (error) {
    expect(error).toBeInstanceOf(RegexError);
  }
});
