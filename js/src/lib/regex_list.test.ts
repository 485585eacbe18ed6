import { describe, expect, test } from "vitest";
import { joinRegexes, splitRegexes } from "./regex_list.ts";

describe("splitRegexes", () => {
  test.each([
    ["", []],
    [" , ,", []],
    [".*", [".*"]],
    ["conv.*,relu.*", ["conv.*", "relu.*"]],
    [" conv.* , relu.* ", ["conv.*", "relu.*"]],
    ["a{1,2},b", ["a{1,2}", "b"]],
    ["a{,b", ["a{", "b"]],
    ["[,;]x,b", ["[,;]x", "b"]],
    ["[],]x,b", ["[],]x", "b"]],
    ["[^],]x,b", ["[^],]x", "b"]],
    ["[[:alpha:],]x,b", ["[[:alpha:],]x", "b"]],
    ["[\\],]x,b", ["[\\],]x", "b"]],
    ["a\\,b,c", ["a\\,b", "c"]],
    ["a\\\\,b", ["a\\\\", "b"]],
    ["(a,b),c", ["(a,b)", "c"]],
    ["((a,b),c),d", ["((a,b),c)", "d"]],
    ["\\(a,b", ["\\(a", "b"]],
    ["[(],b", ["[(]", "b"]],
    ["\\Qa,(b\\E,c", ["\\Qa,(b\\E", "c"]],
    ["a),b", ["a)", "b"]],
    // What is not closed is wrong, and is one regex, so that the message is about what was typed.
    ["save/(.*,b", ["save/(.*,b"]],
    ["a,[b,c", ["a", "[b,c"]],
    ["a,[b,c\\", ["a", "[b,c\\"]],
  ])("%j", (line, regexes) => {
    expect(splitRegexes(line)).toEqual(regexes);
  });
});

describe("joinRegexes", () => {
  test.each([
    [[]],
    [[".*"]],
    [["conv.*", "relu.*"]],
    [["a{1,2}", "[,;]", "(a,b)", "a\\,b", "\\Qa,b\\E"]],
    [["step 1", "\\ "]],
    [["{", "}"]],
  ])("of %j splits into the same", (regexes) => {
    expect(splitRegexes(joinRegexes(regexes))).toEqual(regexes);
  });

  test.each([
    [["a,b"], "a[,]b"],
    [[""], "()"],
    [[" a "], "[ ]a[ ]"],
  ])("writes %j otherwise, with the same meaning", (regexes, line) => {
    expect(joinRegexes(regexes)).toBe(line);
    const [again = ""] = splitRegexes(line);
    const text = regexes[0] as string;
    expect(new RegExp(`^(?:${again})$`).test(text)).toBe(true);
  });
});
