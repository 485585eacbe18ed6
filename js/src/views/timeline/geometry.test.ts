import { describe, expect, test } from "vitest";
import { executionsOf } from "../../analysis/testing.ts";
import { laidOut } from "../../analysis/timeline_layout.ts";
import { across, along, nextHighlighted, sliceAt } from "./geometry.ts";

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
  const isMeant = (lane: number, slice: number): boolean => lane === 1 || slice === 2; // executions 1, 3 and 4
  const order = [
    { lane: 1, slice: 0 },
    { lane: 1, slice: 1 },
    { lane: 0, slice: 2 },
  ];

  test("goes by start through all lanes, and round", () => {
    expect(nextHighlighted(lanes, isMeant, null, 1)).toEqual(order[0]);
    expect(nextHighlighted(lanes, isMeant, order[0] ?? null, 1)).toEqual(order[1]);
    expect(nextHighlighted(lanes, isMeant, order[1] ?? null, 1)).toEqual(order[2]);
    expect(nextHighlighted(lanes, isMeant, order[2] ?? null, 1)).toEqual(order[0]);
  });

  test("and back", () => {
    expect(nextHighlighted(lanes, isMeant, null, -1)).toEqual(order[2]);
    expect(nextHighlighted(lanes, isMeant, order[2] ?? null, -1)).toEqual(order[1]);
    expect(nextHighlighted(lanes, isMeant, order[0] ?? null, -1)).toEqual(order[2]);
  });

  test("starts from a slice that is not meant", () => {
    expect(nextHighlighted(lanes, isMeant, { lane: 0, slice: 1 }, 1)).toEqual(order[1]);
  });

  test("what starts together comes lane by lane", () => {
    const two =
      laidOut(executionsOf([{ drawn: "aa" }, { drawn: "b", thread: 1 }]), [0]).tracks[0]?.lanes ?? [];
    const all = (): boolean => true;
    expect(nextHighlighted(two, all, { lane: 0, slice: 0 }, 1)).toEqual({ lane: 1, slice: 0 });
    expect(nextHighlighted(two, all, { lane: 1, slice: 0 }, 1)).toEqual({ lane: 0, slice: 0 });
    expect(nextHighlighted(two, all, { lane: 1, slice: 0 }, -1)).toEqual({ lane: 0, slice: 0 });
  });

  test("there is none where nothing is meant", () => {
    expect(nextHighlighted(lanes, () => false, null, 1)).toBeNull();
  });
});
