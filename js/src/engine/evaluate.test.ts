// From a profile and options to a view: what is kept between views never shows, and what cannot be is refused by name.

import { describe, expect, test } from "vitest";
import { OptionError, withDefaults } from "../data/options.ts";
import { Cache, cacheOf } from "../data/profile.ts";
import { OPTIONS, type Options, VIEWS } from "../data/protocol.ts";
import { evaluate } from "./evaluate.ts";
import { drawn, profileOf } from "./testing.ts";

const MODEL = `
  s/a  = Add(s/b, c) 5us;7us 4flops +mine   | main.py:1:main > model.py:1:f
  s/b  = Const() 1500ns;900ns 6params @gpu  | main.py:1:main > model.py:2:f
  c    = Add() 3us;1us                      | main.py:2:main
`;
const CHANGES: readonly Partial<Options>[] = [
  {},
  { orderBy: "micros" },
  { orderBy: "micros", minMicros: 2 },
  { orderBy: "occurrence" },
  { hideNameRegexes: ["s", "Add", "main.*"] },
  { deviceRegexes: ["gpu"] },
  { accountTypeRegexes: ["Add"] },
  { accountTypeRegexes: ["Add", "mine"] },
  { accountDisplayedOpOnly: true, maxDepth: 2, orderBy: "bytes" },
  { step: 0 },
  { runNameRegexes: ["odd"] },
  { step: 1, timing: "tfprof" },
  { timing: "tfprof", accountTypeRegexes: ["Add", "mine"] },
  { startNameRegexes: ["s/.*", "Add", ".*model.*"] },
];

test("views in any order are as if each were the first", () => {
  const asked = VIEWS.flatMap((kind) => CHANGES.map((options) => [kind, withDefaults(options)] as const));
  const alone = asked.map(([kind, options]) =>
    drawn(evaluate(profileOf(MODEL), kind, options), "micros", "runs"),
  );
  expect(new Set(alone).size).toBeGreaterThan(30);
  const profile = profileOf(MODEL);
  for (const step of [1, 5, 13]) {
    for (let i = 0; i < asked.length; i++) {
      const index = (i * step) % asked.length;
      const [kind, options] = asked[index] as (typeof asked)[number];
      expect(drawn(evaluate(profile, kind, options), "micros", "runs")).toBe(alone[index]);
    }
  }
});

test("a view does not change when others are made", () => {
  const profile = profileOf(MODEL);
  const view = evaluate(profile, "scope", withDefaults({ orderBy: "micros" }));
  for (const options of CHANGES) evaluate(profile, "scope", withDefaults(options)).total("micros").fill(0);
  // A mean of 6, 1.2 and 2 microseconds.
  expect(drawn(view, "micros")).toBe("_TFProfRoot 0/9.2\n  s 0/7.2\n    s/a 6/6\n    s/b 1.2/1.2\n  c 2/2");
});

describe("the cache", () => {
  test("what is kept is made once", () => {
    const memory = new Cache();
    expect(memory.kept("tree", () => "grown")).toBe("grown");
    expect(memory.kept("tree", () => "grown again")).toBe("grown");
    expect(memory.recent("sums", () => 1)).toBe(1);
    expect(memory.recent("sums", () => 2)).toBe(1);
  });

  test("of what is recent only what was asked for last is held", () => {
    const memory = new Cache();
    memory.recent("used", () => "first");
    for (let i = 0; i < 100; i++) {
      memory.recent(String(i), () => i);
      expect(memory.recent("used", () => "again")).toBe("first");
    }
    expect(memory.recent("0", () => "made anew")).toBe("made anew");
    expect(memory.recent("99", () => "made anew")).toBe(99);
  });

  test("each profile has its own", () => {
    const [one, other] = [profileOf(MODEL), profileOf(MODEL)];
    expect(cacheOf(one)).toBe(cacheOf(one));
    expect(cacheOf(one)).not.toBe(cacheOf(other));
  });
});

describe("options", () => {
  test("the defaults are those of the table, and do", () => {
    const options = withDefaults();
    for (const { key, default: usual } of OPTIONS) expect(options[key]).toEqual(usual);
    expect(evaluate(profileOf(MODEL), "op", options).rows).toBe(2);
  });

  test.each<[string, unknown, string]>([
    ["minMicros", -1, "min_micros: -1 is less than 0"],
    ["maxDepth", 1.5, "max_depth: 1.5 is not a whole number below 2**53"],
    ["minBytes", 2 ** 53, "min_bytes: 9007199254740992 is not a whole number below 2**53"],
    ["minParams", "many", 'min_params: "many" is not a whole number below 2**53'],
    ["minParams", undefined, "min_params: undefined is not a whole number below 2**53"],
    ["step", -2, "step: -2 is less than -1"],
    ["orderBy", "cost", 'order_by: there is no "cost"; choose from name, depth, bytes, '],
    ["select", ["micros", "cost"], 'select: there is no "cost"; choose from bytes, micros, '],
    ["select", "micros", 'select: "micros" is not a list of texts'],
    ["showNameRegexes", [1], "show_name_regexes: [1] is not a list of texts"],
    ["accountDisplayedOpOnly", 1, "account_displayed_op_only: 1 is not true or false"],
    ["output", null, "output: null is not a text"],
    ["hideNameRegexes", ["a("], 'hide_name_regexes: RE2 refuses "a(": missing ): a('],
    ["trimNameRegexes", ["[a"], 'trim_name_regexes: RE2 refuses "[a": missing ]: [a'],
    ["startNameRegexes", ["**"], 'start_name_regexes: RE2 refuses "**": no argument '],
    ["deviceRegexes", ["\\1"], 'device_regexes: RE2 refuses "\\\\1": invalid escape sequence'],
    ["accountTypeRegexes", [")"], 'account_type_regexes: RE2 refuses ")": unexpected ): )'],
    ["runNameRegexes", ["(?=a)"], 'run_name_regexes: RE2 refuses "(?=a)": invalid perl operator'],
  ])("%s = %j", (key, value, message) => {
    const options = { ...withDefaults(), [key]: value } as Options;
    for (const kind of VIEWS) {
      const evaluated = () => evaluate(profileOf(MODEL), kind, options);
      expect(evaluated).toThrow(OptionError);
      expect(evaluated).toThrow(message);
    }
  });
});
