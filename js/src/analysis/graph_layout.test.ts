import { expect, test } from "vitest";
import { middlesOf } from "./graph_alignment.ts";
import { crossingsOf, type Edges, layersOf, ranksOf } from "./graph_layout.ts";

/** Edges as "0>1 1>2". */
function edgesOf(text: string): Edges {
  const ends = text.split(" ").filter(Boolean);
  const at = (place: number) => Int32Array.from(ends, (edge) => Number(edge.split(">")[place]));
  return { from: at(0), to: at(1) };
}

test("a box is one rank below the lowest of those that it takes from", () => {
  // A diamond with one longer arm: 0 → 1 → 2 → 4 and 0 → 3 → 4.
  const { rank, isBack } = ranksOf(5, edgesOf("0>1 1>2 2>4 0>3 3>4"));
  expect([...rank]).toEqual([0, 1, 2, 1, 3]);
  expect([...isBack]).toEqual([0, 0, 0, 0, 0]);
});

test("what nothing leads to stands right above what takes it, not at the top", () => {
  expect([...ranksOf(4, edgesOf("0>1 1>2 3>2")).rank]).toEqual([0, 1, 2, 1]);
});

test("an edge that closes a circle goes back, and all others go down", () => {
  const edges = edgesOf("0>1 1>2 2>1 2>3");
  const { rank, isBack } = ranksOf(4, edges);
  expect([...isBack]).toEqual([0, 0, 1, 0]);
  expect([...rank]).toEqual([0, 1, 2, 3]);
});

test("a circle without a way in is cut once", () => {
  const { rank, isBack } = ranksOf(3, edgesOf("0>1 1>2 2>0"));
  expect(isBack.reduce((sum, each) => sum + each, 0)).toBe(1);
  expect([...rank].sort()).toEqual([0, 1, 2]);
});

test("a ladder has no crossings, however its rungs are listed", () => {
  // Two chains of four with rungs between them: 0-3 and 4-7, listed so that a first order crosses.
  const edges = edgesOf("5>6 0>1 4>5 1>2 6>7 2>3 0>5 1>6 2>7");
  const { rank } = ranksOf(8, edges);
  const layers = layersOf(rank, edges);
  expect(crossingsOf(layers)).toBe(0);
});

test("two pairs that stand crosswise are uncrossed", () => {
  // 0 → 3 and 1 → 2 cross in the order of their numbers; the two ranks are 0, 1 and 2, 3.
  const layers = layersOf(Int32Array.of(0, 0, 1, 1), edgesOf("0>3 1>2"));
  expect(crossingsOf(layers)).toBe(0);
  const unsorted = { ...layers, ranks: [Int32Array.of(0, 1), Int32Array.of(2, 3)] };
  expect(crossingsOf(unsorted)).toBe(1);
});

test("crossings are counted as pairs: three by three all crossed are nine", () => {
  // Complete bipartite graphs of 3 and 3 have C(3,2) * C(3,2) = 9 crossings in any order.
  const text = [0, 1, 2].flatMap((one) => [3, 4, 5].map((other) => `${one}>${other}`)).join(" ");
  expect(crossingsOf(layersOf(Int32Array.of(0, 0, 0, 1, 1, 1), edgesOf(text)))).toBe(9);
});

test("a long edge has a bend in each rank that it passes", () => {
  const edges = edgesOf("0>1 1>2 2>3 0>3");
  const { chains, ranks } = layersOf(ranksOf(4, edges).rank, edges);
  expect(chains.map((chain) => chain.length)).toEqual([2, 2, 2, 4]);
  expect(ranks.map((slots) => slots.length)).toEqual([1, 2, 2, 1]);
});

test("a chain stands straight beside a long edge, whose bends are straight as well", () => {
  const edges = edgesOf("0>1 1>2 2>3 0>3");
  const layers = layersOf(ranksOf(4, edges).rank, edges);
  const middle = middlesOf(layers, Float64Array.of(100, 100, 100, 100), 20);
  expect(new Set([...middle.subarray(0, 4)]).size).toBe(1);
  expect(middle[4]).toBe(middle[5]);
  // The bends are beside the boxes: half a box and the gap away, or more.
  expect(Math.abs((middle[4] as number) - (middle[1] as number))).toBeGreaterThanOrEqual(70);
});

test("what two boxes share stands between them, and no boxes overlap", () => {
  const edges = edgesOf("0>1 0>2 1>3 2>3");
  const layers = layersOf(ranksOf(4, edges).rank, edges);
  const [top, left, right, bottom] = middlesOf(layers, Float64Array.of(100, 100, 60, 100), 20) as unknown as [
    number,
    number,
    number,
    number,
  ];
  expect(Math.abs(right - left)).toBeGreaterThanOrEqual(100);
  expect(top).toBeCloseTo((left + right) / 2, 0);
  expect(bottom).toBeCloseTo(top, 0);
});

test("a box stands over the middle of what it leads to", () => {
  // 0 leads to the first two of five boxes of 100 pixels with gaps of 20, whose middles are 120 apart.
  const edges = edgesOf("0>2 0>3 1>4 1>5 1>6");
  const layers = layersOf(Int32Array.of(0, 0, 1, 1, 1, 1, 1), edges);
  const middle = middlesOf(layers, new Float64Array(7).fill(100), 20);
  expect((middle[3] as number) - (middle[2] as number)).toBeCloseTo(120);
  expect((middle[0] as number) - (middle[2] as number)).toBeCloseTo(60);
  expect(middle[1]).toBe(middle[5]);
});
