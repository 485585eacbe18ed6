// Regexes in RE2's syntax: what they match in full, what is refused, and that none takes long. All answers are RE2's.

import { describe, expect, test } from "vitest";
import { OptionError } from "../data/options.ts";
import { compileWith, Names } from "./matching.ts";
import { compiled, Regex } from "./regex.ts";
import { RegexError } from "./regex_classes.ts";

compileWith(compiled);

/** Which of the texts match. */
function matching(regex: string, ...texts: string[]): string[] {
  const pattern = new Regex(regex);
  return texts.filter((text) => pattern.matches(text));
}

describe("a match is of the whole text", () => {
  test.each<[regex: string, yes: string[], no: string[]]>([
    ["", [""], ["a"]],
    ["a", ["a"], ["", "aa", "ab", "ba"]],
    ["a|ab", ["a", "ab"], ["abc", "b"]],
    ["|a", ["", "a"], ["aa"]],
    ["a.*a", ["aa", "aba"], ["a"]],
    ["a*", ["", "aaa"], ["ab"]],
    ["(ab)+?", ["ab", "abab"], ["", "aba"]],
    ["(?U)a+?b??", ["a", "aab"], ["b"]],
    ["a{2}", ["aa"], ["a", "aaa"]],
    ["a{2,}", ["aa", "aaa"], ["a"]],
    ["a{1,2}", ["a", "aa"], ["", "aaa"]],
    ["a{0}b", ["b"], ["ab"]],
    ["a{,2}", ["a{,2}"], ["a", "aa"]],
    ["a{01}", ["a{01}"], ["a"]],
    ["(a*)*b", ["b", "aab"], ["a"]],
    ["(?P<x>a)(?<y>b)(?:c)", ["abc"], ["ab"]],
    ["^a$", ["a"], ["a\n"]],
    ["(?:^a|b)*", ["", "a", "ab", "bb"], ["ba"]],
    ["^*a", ["a"], ["^a"]],
    ["\\Aa\\z", ["a"], ["aa"]],
    ["(?m)a\n^b$", ["a\nb"], ["ab"]],
    ["a\n^b", [], ["a\nb"]],
    ["(?m)a$\\s*", ["a", "a\n"], ["a "]],
    ["a\\b.*", ["a", "a/b", "aé"], ["ab", "a_"]],
    ["a\\B.*", ["ab", "a_"], ["a", "aé"]],
  ])("%j", (regex, yes, no) => {
    expect(matching(regex, ...yes, ...no)).toEqual(yes);
  });
});

describe("characters", () => {
  test.each<[regex: string, yes: string[], no: string[]]>([
    [".", ["a", "é", "😀", "\r", "\u2028"], ["\n", "ab"]],
    ["(?s).", ["a", "\n"], [""]],
    ["(?s:.)(?-s:.)", ["\na"], ["\n\n"]],
    ["[ab]", ["a", "b"], ["c"]],
    ["[^a]", ["b", "\n", "😀"], ["a"]],
    ["[a-c/]", ["b", "/"], ["d"]],
    ["[]a]", ["]", "a"], ["[]"]],
    ["[^]a]", ["b"], ["]", "a"]],
    ["[a-]", ["a", "-"], ["b"]],
    ["[+--]", ["+", ",", "-"], ["."]],
    ["[[a]", ["[", "a"], ["]"]],
    ["[[:alpha:]]", ["a", "Z"], ["é", "1"]],
    ["[[:^alpha:]]", ["é", "1"], ["a"]],
    ["[[:word:]/]", ["_", "/"], ["-"]],
    ["[[:space:]]", ["\v", " "], ["\u00a0"]],
    ["[[:punct:]]", ["`", "~", "!"], ["a", " "]],
    ["\\d", ["7"], ["٧", "a"]],
    ["\\D", ["٧", "a"], ["7"]],
    ["\\s", [" ", "\f"], ["\v", "\u00a0"]],
    ["\\w", ["_", "z"], ["é"]],
    ["[\\W]", ["é"], ["_"]],
    ["[^\\W]", ["_"], ["é"]],
    ["\\pL", ["a", "é", "日"], ["1"]],
    ["\\PL", ["1"], ["é"]],
    ["\\p{Lu}", ["É"], ["é"]],
    ["\\p{^Lu}", ["é"], ["É"]],
    ["[^\\p{Greek}a]", ["b"], ["λ", "a"]],
    ["\\p{Any}", ["\n"], [""]],
    ["\\pC", ["\x01"], ["\u0378", "a"]], // U+0378 is not assigned
    ["\\x41\\x{e9}\\101\\012", ["AéA\n"], ["Aé"]],
    ["\\a\\f\\n\\r\\t\\v", ["\x07\f\n\r\t\v"], [""]],
    ["\\.\\/\\-\\_\\ \\\\", ["./-_ \\"], ["a/-_ \\"]],
    ["\\Qa.b\\E.", ["a.bc"], ["axbc"]],
    ["\\Qa*\\E+\\Q(", ["a*(", "a**("], ["a("]],
    ["}]", ["}]"], ["}"]],
  ])("%j", (regex, yes, no) => {
    expect(matching(regex, ...yes, ...no)).toEqual(yes);
  });
});

describe("(?i) folds as Unicode does", () => {
  test.each<[regex: string, yes: string[], no: string[]]>([
    ["(?i)conv2d/É", ["Conv2D/é", "CONV2D/É"], ["conv2d"]],
    ["(?i)s", ["s", "S", "ſ"], ["ß"]],
    ["(?i)[k]", ["k", "K", "\u212a"], ["x"]],
    ["(?i)ß", ["ß", "ẞ"], ["ss"]],
    ["(?i)Σ", ["σ", "ς", "Σ"], ["s"]],
    ["(?i)[^k]", ["x"], ["K", "\u212a"]],
    ["(?i)\\w", ["ſ"], ["é"]],
    ["(?i)\\W", ["é"], ["ſ"]],
    ["(?i)\\p{Lu}", ["a", "A"], ["1"]],
    ["(?i)\\P{Lu}", ["1"], ["a", "A"]],
    ["(?i)[\\P{Lu}x]", ["1", "X"], ["a"]],
    ["a(?i)b|c", ["aB", "C"], ["AB"]],
    ["(a(?i)b)c", ["aBc"], ["aBC"]],
    ["(?i:a)b", ["Ab"], ["AB"]],
    ["(?i)a(?-i:b)", ["Ab"], ["AB"]],
    ["(?i)a(?-i)b(?i)c", ["AbC"], ["ABC"]],
  ])("%j", (regex, yes, no) => {
    expect(matching(regex, ...yes, ...no)).toEqual(yes);
  });
});

describe("what RE2 refuses is refused with its reason", () => {
  test.each([
    ["a(", "missing ): a("],
    ["a)", "unexpected ): a)"],
    ["[a", "missing ]: [a"],
    ["[a-", "missing ]: [a-"],
    ["[", "missing ]: ["],
    ["*a", "no argument for repetition operator: *"],
    ["(|+)", "no argument for repetition operator: +"],
    ["a**", "bad repetition operator: **"],
    ["a*??", "bad repetition operator: *??"],
    ["a{2}{3}", "bad repetition operator: {2}{3}"],
    ["a++", "bad repetition operator: ++"],
    ["a{2000}", "invalid repetition size: {2000}"],
    ["a{2,1}", "invalid repetition size: {2,1}"],
    ["(a{500}){3}", "invalid repetition size: {3}"],
    ["(a)\\1", "invalid escape sequence: \\1"],
    ["\\Z", "invalid escape sequence: \\Z"],
    ["\\é", "invalid escape sequence: \\é"],
    ["[\\b]", "invalid escape sequence: \\b"],
    ["(?=a)", "invalid perl operator: (?="],
    ["(?!a)", "invalid perl operator: (?!"],
    ["(?<=a)b", "invalid perl operator: (?<="],
    ["(?<!a)b", "invalid perl operator: (?<!"],
    ["(?>a)", "invalid perl operator: (?>"],
    ["(?x)", "invalid perl operator: (?x"],
    ["(?i-)", "invalid perl operator: (?i-)"],
    ["(?P<1-a>b)", "invalid named capture group: (?P<1-a>"],
    ["[z-a]", "invalid character class range: z-a"],
    ["[[:foo:]]", "invalid character class range: [:foo:]"],
    ["\\pX", "invalid character class range: \\pX"],
    ["\\p{Grek}", "invalid character class range: \\p{Grek}"],
    ["\\p{Letter}", "invalid character class range: \\p{Letter}"],
    ["\\p{Cn}", "invalid character class range: \\p{Cn}"],
    ["\\p{toString}", "invalid character class range: \\p{toString}"],
    ["\\", "trailing \\"],
  ])("%j", (regex, reason) => {
    expect(() => new Regex(regex)).toThrow(new RegexError(reason));
  });

  test("with the name of the option, whatever the names", () => {
    const names = new Names([]);
    expect(() => names.matching("hide_name_regexes", ["fine", "a("])).toThrow(
      new OptionError("hide_name_regexes", 'RE2 refuses "a(": missing ): a('),
    );
  });
});

test("a byte is refused, for a browser has none", () => {
  expect(() => new Regex("\\C")).toThrow(/^\\C is a single byte/);
});

test("a regex of too many parts is refused", () => {
  expect(() => new Regex("(a{1000}b{1000})".repeat(60))).toThrow("pattern too large");
  expect(() => new Regex("(".repeat(1001) + ")".repeat(1001))).toThrow("nests too deeply");
});

test.each(["(a+)+$", "(a*)*b", "(a|aa)+$", "(.*.*.*.*.*)x", "a{1,30}a{1,30}a{1,30}$", "((a?){30}){30}c"])(
  "%j takes no exponential time",
  (regex) => {
    expect(matching(regex, `${"a".repeat(5000)}b`)).toEqual(
      regex === "(a*)*b" ? [`${"a".repeat(5000)}b`] : [],
    );
  },
);

test("many states and many sorts of characters are still told apart", () => {
  const regex = new Regex("(?s).*a.{12}"); // 8192 states
  const texts = Array.from({ length: 5000 }, (_, seed) =>
    Array.from({ length: 30 }, (_, i) => ((seed * 7919 + i * i * 104729) >> 5) % 2).map((bit) => "ab"[bit]),
  );
  for (const text of texts) expect(regex.matches(text.join(""))).toBe(text[text.length - 13] === "a");
  const letters = "abcdefghijklmnopqrstuvwxyzäöüßéèñλ日";
  const each = new Regex([...letters].map((letter) => `${letter}x`).join("|"));
  for (const letter of letters) {
    expect([each.matches(`${letter}x`), each.matches(letter), each.matches(`x${letter}`)]).toEqual([
      true,
      false,
      letter === "x",
    ]);
  }
});

describe("names", () => {
  test("one regex of several is enough", () => {
    const names = new Names(["a", "b", "c"]);
    expect(Array.from(names.matching("show_name_regexes", ["a", "c"]))).toEqual([1, 0, 1]);
    expect(Array.from(names.matching("show_name_regexes", []))).toEqual([0, 0, 0]);
  });

  test("a point and a star alone is native's word for all", () => {
    const names = new Names(["a", "a\nb"]);
    expect(Array.from(names.matching("show_name_regexes", [".*"]))).toEqual([1, 1]);
    expect(Array.from(names.matching("show_name_regexes", [".*", "x"]))).toEqual([1, 0]);
  });

  test("an answer is the caller's own", () => {
    const names = new Names(["a", "b"]);
    names.matching("show_name_regexes", ["a"]).fill(1);
    expect(Array.from(names.matching("show_name_regexes", ["a"]))).toEqual([1, 0]);
  });
});

test.each([
  "a",
  "a/b_c-1",
  "",
  "step 3",
  "a\\.b",
  "a\\-b",
  "a\\\\b",
  "w (1)",
  "é",
  "a\\d",
  "a|b",
  "a\\",
  "#1,<2>",
])("%j is the same whether it is read as a name or run as an automaton", (regex) => {
  const texts = [
    "a",
    "a/b_c-1",
    "",
    "step 3",
    "a.b",
    "axb",
    "a-b",
    "a\\b",
    "w (1)",
    "w 1",
    "é",
    "a7",
    "b",
    "#1,<2>",
  ];
  const ask = (matches: () => readonly boolean[]) => {
    try {
      return matches();
    } catch (error) {
      return (error as Error).message.replace(/^.*": /, "");
    }
  };
  const names = new Names(texts);
  expect(ask(() => Array.from(names.matchingOne("option", regex), Boolean))).toEqual(
    ask(() => {
      const pattern = new Regex(regex);
      return texts.map((text) => pattern.matches(text));
    }),
  );
});
