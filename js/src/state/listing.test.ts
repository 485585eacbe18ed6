import { describe, expect, test } from "vitest";
import { regionsOf, sourceOf } from "../analysis/frames.ts";
import { withDefaults } from "../data/options.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import { scopeTree } from "../engine/scope.ts";
import { drawing, profileOf } from "../engine/testing.ts";
import {
  cutAtMatch,
  FOLDED,
  type FoldState,
  type Listing,
  lastingPlace,
  listingOf,
  marked,
  matchingPlaces,
  matchingRows,
  nextMatch,
  type Rule,
  readFrames,
  rowOf,
  UNFOLDED,
} from "./listing.ts";

readFrames({ regionsOf, sourceOf });

const MODEL = profileOf(`
  big/a/one   = MatMul() 60us
  big/a/two   = MatMul() 20us
  big/b       = Relu()   16us
  small/c/d   = Const()  3us
  small/e     = Const()  1us
`);
const CODE = profileOf(`
  a = MatMul() 50us | run/site-packages/ipykernel/app.py:1:launch > train.py:1:main > x/keras/fit.py:2:fit > x/keras/call.py:3:call > model.py:4:layer
  b = MatMul() 30us | run/site-packages/ipykernel/app.py:1:launch > train.py:1:main > x/keras/fit.py:2:fit > x/keras/init.py:5:init
  c = MatMul() 20us | run/site-packages/ipykernel/app.py:1:launch > train.py:9:end
`);
const READING: FoldState = { rule: { share: 0.05 }, marks: new Uint8Array(0), zoom: 0, isMerging: true };

function listed(
  profile: typeof MODEL,
  kind: ViewName,
  options: Partial<Options> = {},
  reading: Partial<FoldState> = {},
): Listing {
  return listingOf(evaluate(profile, kind, withDefaults({ orderBy: "micros", ...options })), {
    ...READING,
    ...reading,
  });
}

function drawn({ view, outline, folded, seen, own, total, regions }: Listing): string {
  const unit = view.unit("micros");
  return Array.from(seen, (row) => {
    const mark = outline.isParent[row] ? (folded[row] ? "+" : "-") : " ";
    const label = regions?.label(row);
    const name = label ? `${regions?.frames[row]} of ${label}` : view.name(row);
    const values = `${(own[row] as number) / unit}/${(total[row] as number) / unit}`;
    return `${"  ".repeat(outline.level[row] as number)}${mark} ${name} ${values}`;
  }).join("\n");
}

function placesOf({ view }: Listing, ...names: string[]): number[] {
  return names.map((name) =>
    lastingPlace(view, Array.from({ length: view.rows }, (_, row) => view.name(row)).indexOf(name)),
  );
}

describe("what is unfolded", () => {
  test("at first is what costs a twentieth of the whole", () => {
    expect(drawn(listed(MODEL, "scope"))).toBe(
      drawing(`
        - _TFProfRoot 0/100
          - big 0/96
            - big/a 0/80
                big/a/one 60/60
                big/a/two 20/20
              big/b 16/16
          + small 0/4
      `),
    );
  });

  test.each<[Rule, string[]]>([
    [{ level: 1 }, ["_TFProfRoot", "big", "small"]],
    [{ level: 2 }, ["_TFProfRoot", "big", "big/a", "big/b", "small", "small/c", "small/e"]],
    [{ level: 0 }, ["_TFProfRoot"]],
  ])("down to %j", (rule, names) => {
    const { view, seen } = listed(MODEL, "scope", {}, { rule });
    expect(Array.from(seen, (row) => view.name(row))).toEqual(names);
  });

  test("by hand comes before the rule, and stays while the options change", () => {
    const first = listed(MODEL, "scope");
    const unfolded = marked(READING.marks, placesOf(first, "small"), UNFOLDED);
    const marks = marked(unfolded, placesOf(first, "big"), FOLDED);
    const expected = drawing(`
      - _TFProfRoot 0/100
        + big 0/96
        - small 0/4
          + small/c 0/3
    `);
    expect(drawn(listed(MODEL, "scope", { minMicros: 3 }, { marks }))).toBe(expected);
    // Another order and fewer nodes make other rows of other places, but the same reading.
    const { view, seen } = listed(
      MODEL,
      "scope",
      { orderBy: "name", accountTypeRegexes: ["MatMul", "Const"] },
      { marks },
    );
    expect(Array.from(seen, (row) => view.name(row))).toEqual([
      "_TFProfRoot",
      "big",
      "small",
      "small/c",
      "small/e",
    ]);
  });
});

test("a place zoomed into is shown alone, as the whole", () => {
  const first = listed(MODEL, "scope");
  const [zoom = 0] = placesOf(first, "big/a");
  const listing = listed(MODEL, "scope", {}, { zoom });
  expect(drawn(listing)).toBe(
    ["    - big/a 0/80", "        big/a/one 60/60", "        big/a/two 20/20"].join("\n"),
  );
  expect(listing.whole).toBe(80_000);
  expect(listed(MODEL, "scope", { hideNameRegexes: ["big/a"] }, { zoom }).top).toBe(-1);
});

test("lasting places are found again, and -1 where they are not shown", () => {
  const { view } = listed(MODEL, "scope", { accountTypeRegexes: ["Const"] });
  for (let row = 0; row < view.rows; row++) expect(rowOf(view, lastingPlace(view, row))).toBe(row);
  const [gone = 0] = placesOf(listed(MODEL, "scope"), "big/b");
  expect(rowOf(view, gone)).toBe(-1);
});

describe("library frames", () => {
  test("that hang together are one row, with what they cost themselves", () => {
    expect(drawn(listed(CODE, "code"))).toBe(
      drawing(`
        - _TFProfRoot 0/100
          - 1 of ipykernel 0/100
            - train.py:1:main 0/80
              - 3 of keras 30/80
                  model.py:4:layer 50/50
              train.py:9:end 20/20
      `),
    );
  });

  test("are rows of their own when asked for", () => {
    expect(drawn(listed(CODE, "code", {}, { isMerging: false }))).toBe(
      drawing(`
        - _TFProfRoot 0/100
          - app.py:1:launch 0/100
            - train.py:1:main 0/80
              - fit.py:2:fit 0/80
                - call.py:3:call 0/50
                    model.py:4:layer 50/50
                  init.py:5:init 30/30
              train.py:9:end 20/20
      `),
    );
  });
});

test("without times the costliest of what there is decides", () => {
  const still = profileOf("a/b = Const() 90params\na/c = Const() 9params\nd/e = Const() 1params");
  const { lead, view, seen } = listed(still, "scope");
  expect(lead).toBe("params");
  expect(Array.from(seen, (row) => view.name(row))).toEqual(["_TFProfRoot", "a", "a/b", "a/c", "d"]);
});

const TREE = scopeTree(["conv/Conv2D", "conv/bias", "dense/conv", "dense/conv_grad/Mul"]);

function found(text: string): string[] {
  const matching = matchingPlaces(TREE, text);
  return TREE.names.filter((_, place) => matching[place]);
}

describe("a place matches", () => {
  test.each([
    ["conv", ["conv", "conv/Conv2D", "dense/conv", "dense/conv_grad"]],
    ["CONV/b", ["conv/bias"]],
    ["dense/", ["dense/conv", "dense/conv_grad"]],
    ["mul", ["dense/conv_grad/Mul"]],
    ["(.*", []],
    ["", []],
  ])("%j where its own part of the name has a part in it", (text, names) => {
    expect(found(text)).toEqual(names);
  });
});

test("rows match in the order shown", () => {
  expect([...matchingRows(Int32Array.of(0, 3, 1, 2), Uint8Array.of(0, 1, 0, 1))]).toEqual([1, 2]);
});

test.each([
  [0, 1, 4],
  [4, 1, 7],
  [9, 1, 4],
  [4, -1, 9],
  [5, -1, 4],
  [0, -1, 9],
] as const)("from row %d in direction %d the next match is %d", (row, direction, match) => {
  expect(nextMatch(Int32Array.of(4, 7, 9), row, direction, false)).toBe(match);
});

test("a fresh search may stay, and one without matches goes nowhere", () => {
  expect(nextMatch(Int32Array.of(4, 7), 7, 1, true)).toBe(7);
  expect(nextMatch(Int32Array.of(4, 7), 5, 1, true)).toBe(7);
  expect(nextMatch(new Int32Array(0), 5, 1, false)).toBe(-1);
});

test.each([
  ["layer1/MatMul", "matmul", ["layer1/", "MatMul", ""]],
  ["MatMul_1", "x", ["MatMul_1", "", ""]],
  ["MatMul_1", "", ["MatMul_1", "", ""]],
])("%j is cut at %j", (text, wanted, parts) => {
  expect(cutAtMatch(text, wanted)).toEqual(parts);
});
