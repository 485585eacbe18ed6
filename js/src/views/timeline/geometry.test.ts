import { describe, expect, test } from "vitest";
import { executionsOf } from "../../analysis/testing.ts";
import { laidOut } from "../../analysis/timeline_layout.ts";
import {
  across,
  along,
  around,
  fitted,
  nextHighlighted,
  panned,
  showing,
  sliceAt,
  zoomed,
} from "./geometry.ts";

// lane 0: 00..22..44
// lane 1: .11....333
const ROWS = ["aa", " aa", "    aa", "       aaa", "        aa"].map((drawn, index) => ({
  drawn,
  thread: index % 2,
}));
const lanes = laidOut(executionsOf(ROWS), [0]).tracks.flatMap((track) => track.lanes);

describe("sliceAt", () => {
  test.each([
    [10, 0, { lane: 0, slice: 0 }],
    [20, 0, { lane: 0, slice: 0 }],
    [25, 0, null],
    [25, 6, { lane: 0, slice: 0 }],
    [36, 6, { lane: 0, slice: 1 }],
    [999, Number.POSITIVE_INFINITY, { lane: 0, slice: 2 }],
  ])("at %d ns, %d ns around", (time, near, place) => {
    expect(sliceAt(lanes, 0, time, near)).toEqual(place);
  });

  test("there is none in a lane that there is not", () => {
    expect(sliceAt(lanes, 9, 0, 1000)).toBeNull();
  });
});

test("along a lane up to its ends", () => {
  expect(along(lanes, { lane: 0, slice: 1 }, 1)).toEqual({ lane: 0, slice: 2 });
  expect(along(lanes, { lane: 0, slice: 2 }, 1)).toEqual({ lane: 0, slice: 2 });
  expect(along(lanes, { lane: 0, slice: 0 }, -1)).toEqual({ lane: 0, slice: 0 });
});

test("across the lanes to what is nearest in time", () => {
  expect(across(lanes, { lane: 0, slice: 2 }, 1)).toEqual({ lane: 1, slice: 1 });
  expect(across(lanes, { lane: 1, slice: 0 }, -1)).toEqual({ lane: 0, slice: 0 });
  expect(across(lanes, { lane: 1, slice: 0 }, 1)).toEqual({ lane: 1, slice: 0 });
});

describe("nextHighlighted", () => {
  const isHighlighted = (lane: number, slice: number): boolean => lane === 1 || slice === 2; // executions 1, 3 and 4
  const order = [
    { lane: 1, slice: 0 },
    { lane: 1, slice: 1 },
    { lane: 0, slice: 2 },
  ];

  test("goes by start through all lanes, and round", () => {
    expect(nextHighlighted(lanes, isHighlighted, null, 1)).toEqual(order[0]);
    expect(nextHighlighted(lanes, isHighlighted, order[0] ?? null, 1)).toEqual(order[1]);
    expect(nextHighlighted(lanes, isHighlighted, order[1] ?? null, 1)).toEqual(order[2]);
    expect(nextHighlighted(lanes, isHighlighted, order[2] ?? null, 1)).toEqual(order[0]);
  });

  test("and back", () => {
    expect(nextHighlighted(lanes, isHighlighted, null, -1)).toEqual(order[2]);
    expect(nextHighlighted(lanes, isHighlighted, order[2] ?? null, -1)).toEqual(order[1]);
    expect(nextHighlighted(lanes, isHighlighted, order[0] ?? null, -1)).toEqual(order[2]);
  });

  test("starts from a slice that is not highlighted", () => {
    expect(nextHighlighted(lanes, isHighlighted, { lane: 0, slice: 1 }, 1)).toEqual(order[1]);
  });

  test("what starts together comes lane by lane", () => {
    const two =
      laidOut(executionsOf([{ drawn: "aa" }, { drawn: "b", thread: 1 }]), [0]).tracks[0]?.lanes ?? [];
    const all = (): boolean => true;
    expect(nextHighlighted(two, all, { lane: 0, slice: 0 }, 1)).toEqual({ lane: 1, slice: 0 });
    expect(nextHighlighted(two, all, { lane: 1, slice: 0 }, 1)).toEqual({ lane: 0, slice: 0 });
    expect(nextHighlighted(two, all, { lane: 1, slice: 0 }, -1)).toEqual({ lane: 0, slice: 0 });
  });

  test("there is none where nothing is highlighted", () => {
    expect(nextHighlighted(lanes, () => false, null, 1)).toBeNull();
  });
});

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
