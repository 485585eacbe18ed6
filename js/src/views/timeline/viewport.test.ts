import { describe, expect, test } from "vitest";
import { around, fitted, panned, showing, zoomed } from "./viewport.ts";

const END = 100_000;

describe("a viewport", () => {
  test("zoomed keeps the time under the pointer where it is", () => {
    expect(zoomed({ from: 0, to: 80_000 }, 0.5, 60_000, END)).toEqual({ from: 30_000, to: 70_000 });
  });

  test("never leaves the whole", () => {
    expect(zoomed({ from: 0, to: 80_000 }, 2, 0, END)).toEqual(fitted(END));
    expect(panned({ from: 10_000, to: 20_000 }, -50_000, END)).toEqual({ from: 0, to: 10_000 });
    expect(panned({ from: 10_000, to: 20_000 }, 500_000, END)).toEqual({ from: 90_000, to: END });
  });

  test("has a shortest length, around the same time", () => {
    expect(zoomed({ from: 1000, to: 1300 }, 0.01, 1150, END)).toEqual({ from: 1050, to: 1250 });
    expect(fitted(0)).toEqual({ from: 0, to: 200 });
  });

  test("around a part leaves a little air", () => {
    expect(around({ from: 10_000, to: 20_000 }, END)).toEqual({ from: 9800, to: 20_200 });
  });

  test("shows a slice by moving as little as it must", () => {
    const seen = { from: 40_000, to: 50_000 };
    expect(showing(seen, 42_000, 43_000, END)).toBe(seen);
    expect(showing(seen, 55_000, 56_000, END)).toEqual({ from: 47_000, to: 57_000 });
    expect(showing(seen, 30_000, 31_000, END)).toEqual({ from: 29_000, to: 39_000 });
  });

  test("shows the start of a slice that is longer than what is seen", () => {
    expect(showing({ from: 0, to: 1000 }, 500, 60_000, END)).toEqual({ from: 500, to: 1500 });
    expect(showing({ from: 40_000, to: 41_000 }, 500, 60_000, END)).toEqual({ from: 500, to: 1500 });
  });
});
