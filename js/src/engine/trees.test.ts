// The trees that the views are made of, and which of their places are accounted.

import { describe, expect, test } from "vitest";
import { ProfileError, withDefaults } from "../data/options.ts";
import type { Options } from "../data/protocol.ts";
import { codeTree, forwardName, frameName } from "./code.ts";
import { evaluate } from "./evaluate.ts";
import { graphTree } from "./graph.ts";
import { byteOrder, compareNames, ordered } from "./order.ts";
import { scopeTree } from "./scope.ts";
import { drawing, drawnTree, profileOf, shown } from "./testing.ts";

/** The order of code points: U+FF5E comes before U+1F600, though its UTF-16 comes after. */
const [WIDE_TILDE, SMILE] = ["～", "😀"];

test("names are compared by code points", () => {
  for (const compare of [compareNames, byteOrder([WIDE_TILDE, SMILE])]) {
    expect(compare(WIDE_TILDE, SMILE)).toBeLessThan(0);
    expect(compare(`a${SMILE}`, `a${WIDE_TILDE}`)).toBeGreaterThan(0);
    expect(compare("a", "ab")).toBeLessThan(0);
    expect(compare("a", "a")).toBe(0);
  }
  expect(byteOrder(["a"])("b", "a")).toBeGreaterThan(0);
});

test("siblings follow one another as in the sequence, each with what is below it", () => {
  const parent = Int32Array.from([-1, 0, 1, 0]);
  expect(Array.from(ordered(Int32Array.from([0, 3, 2, 1]), parent))).toEqual([0, 3, 1, 2]);
  expect(Array.from(ordered(Int32Array.from([0]), parent))).toEqual([0]);
});

describe("scope", () => {
  test("a scope is right before what is in it, whatever sorts before the slash", () => {
    const names = ["a", "a-b", "a/b", "a/b/c", "b/c/d", `c/${WIDE_TILDE}`, `c/${SMILE}/x`];
    expect(drawnTree(scopeTree(names))).toBe(
      drawing(`
        _TFProfRoot
          a
            a/b
              a/b/c
          a-b
          b
            b/c
              b/c/d
          c
            c/${WIDE_TILDE}
            c/${SMILE}
              c/${SMILE}/x
      `),
    );
  });

  test("made-up scopes stand for no node", () => {
    const tree = scopeTree(["a/b", "c"]);
    expect(tree.names).toEqual(["_TFProfRoot", "a", "a/b", "c"]);
    expect(Array.from(tree.single)).toEqual([-1, -1, 0, 1]);
    expect(Array.from(tree.rowStart)).toEqual([0, 0, 0, 1, 2]);
  });

  test("a name may start or end with a slash", () => {
    expect(drawnTree(scopeTree(["/a", "b/"]))).toBe("_TFProfRoot\n  \n    /a\n  b\n    b/");
  });

  test("what is shown under another scope than its own is in byte order there", () => {
    const profile = profileOf("a   = Op() 1us\na-c = Op() 1us\na/b = Op() 1us");
    expect(shown(profile, "scope")).toBe("_TFProfRoot 0/3\n  a 1/2\n    a/b 1/1\n  a-c 1/1");
    expect(shown(profile, "scope", { hideNameRegexes: ["a"] })).toBe("_TFProfRoot 0/3\n  a-c 1/1\n  a/b 1/1");
  });
});

describe("graph", () => {
  test("each node is under the one from which it is first met", () => {
    const profile = profileOf(`
      a = Op()
      b = Op(a)
      c = Op(a, b)
      d = Op(missing, b)
      x = Op(y)
      y = Op(x)
    `);
    const { names, inputs } = profile.nodes;
    expect(drawnTree(graphTree(names, inputs))).toBe("_TFProfRoot\n  c\n    a\n    b\n  d");
  });

  test("what is not accounted hands up what is below it", () => {
    const profile = profileOf("a = Add() 1us\nb = Mul(a) 2us\nc = Add(b) 4us");
    expect(shown(profile, "graph", { accountTypeRegexes: ["Add"] })).toBe(
      "_TFProfRoot 0/5\n  c 4/5\n    a 1/1",
    );
  });
});

describe("code", () => {
  test.each([
    ["/home/me/train.py", 7, "build", "train.py:7:build"],
    ["train.py", 7, "nineteen_letters_xy", "train.py:7:nineteen_letters_xy"],
    ["train.py", 7, "twenty_letters_in_it", "train.py:7:twenty_letters_in..."],
    ["train.py", -1, "λλλλλλλλλλ", "train.py:-1:λλλλλλλλ..."], // 17 bytes end inside a letter
  ])("%s, %i, %s", (file, line, name, frame) => {
    expect(frameName(file, line, name)).toBe(frame);
  });

  test.each([
    ["train/gradients/conv1/Conv2D_grad/Conv2DBackpropInput", "conv1/Conv2D"],
    ["conv1", undefined],
    ["gradients/_grad/x", undefined],
    ["a_grad/gradients/b", "b"],
  ])("%s is the gradient of %s", (name, forward) => {
    expect(forwardName(name)).toBe(forward);
  });

  const PROFILE = profileOf(`
    b               = Op() 1us       | m.py:1:f > m.py:2:g
    a               = Op() 2us +mine | m.py:1:f > m.py:3:h
    c               = Op() 4us       | m.py:1:f
    gradients/b_grad/x = Op() 8us    | m.py:9:minimize
    gradients/a0_grad/x = Op() 16us  | m.py:9:minimize
    none            = Op() 32us
  `);

  test("frames in the order in which they are met; gradients after them, those of nothing nowhere", () => {
    expect(drawnTree(codeTree(PROFILE.nodes.names, PROFILE.traces))).toBe(
      drawing(`
        _TFProfRoot
          m.py:1:f
            m.py:3:h
            m.py:2:g
          m.py:1:f (gradient)
            m.py:2:g (gradient)
      `),
    );
    expect(shown(PROFILE, "code").split("\n")[0]).toBe("_TFProfRoot 0/15");
  });

  test("a gradient may be told its forward node", () => {
    const { nodes, traces } = PROFILE;
    const forward = traces.forward.slice();
    forward[nodes.names.indexOf("c")] = nodes.names.indexOf("a");
    expect(drawnTree(codeTree(nodes.names, { ...traces, forward }))).toContain("m.py:3:h (gradient)");
  });

  test("by the number of nodes, and only what is accounted", () => {
    const two = profileOf("a = Op() 1us | a.py:1:f\nb = Op() 1us | b.py:1:f\nc = Op() 1us | b.py:1:f");
    expect(shown(two, "code", { orderBy: "occurrence" })).toBe(
      "_TFProfRoot 0/3\n  b.py:1:f 2/2\n  a.py:1:f 1/1",
    );
    expect(shown(PROFILE, "code", { accountTypeRegexes: ["mine"] })).toBe(
      "_TFProfRoot 0/2\n  m.py:1:f 0/2\n    m.py:3:h 2/2",
    );
  });

  test("without traces there is no code view", () => {
    const profile = profileOf("a = Op() 1us");
    expect(() => evaluate(profile, "code", withDefaults())).toThrow(ProfileError);
  });
});

test.each<[Partial<Options>, string]>([
  [{ accountTypeRegexes: ["Conv2D"] }, "_TFProfRoot 0/2\n  s 0/2\n    s/a 2/2"],
  [{ accountTypeRegexes: ["Conv"] }, "_TFProfRoot 0/0"], // a match is of the whole type
  [{ accountTypeRegexes: ["Conv.*", "mine"] }, "_TFProfRoot 0/3\n  b 1/1\n  s 0/2\n    s/a 2/2"],
  [{ accountTypeRegexes: [".*gpu"] }, "_TFProfRoot 0/1\n  b 1/1"],
  [{ accountTypeRegexes: [] }, "_TFProfRoot 0/0"],
  [{ accountTypeRegexes: ["_kTFScopeParent"] }, "_TFProfRoot 0/0\n  s 0/0"],
])("a node counts if one of its types matches: %j", (options, rows) => {
  const profile = profileOf("s/a = Conv2D() 2us\nb = MatMul() 1us @gpu +mine\nc = NoOp() 4us");
  expect(shown(profile, "scope", options)).toBe(rows);
});
