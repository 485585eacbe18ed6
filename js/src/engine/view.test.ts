// The shapes that a node takes in, and how native tfprof gets them wrong.

import { expect, test } from "vitest";
import type { Profile } from "../data/profile.ts";
import { profileOf } from "./testing.ts";
import { inputShapes } from "./view.ts";

// `split` has the outputs 2x3 and 4; `sum` takes its second, its third, which is not known, and a node that is missing.
const SKETCH = profileOf("split = Split()\nsum = Sum(split, split, missing)");
const PROFILE: Profile = {
  ...SKETCH,
  nodes: {
    ...SKETCH.nodes,
    shapes: ["2x3", "4"],
    outputShapes: { start: Int32Array.of(0, 2, 2), values: Int32Array.of(0, 1) },
    inputPorts: Int32Array.of(1, 2, 0),
  },
};

test("each input has the shape of the output that it takes", () => {
  expect(inputShapes(PROFILE, 1, "exact")).toEqual(["4", undefined, undefined]);
  expect(inputShapes(PROFILE, 0, "exact")).toEqual([]);
});

test("native takes the first output for every input", () => {
  expect(inputShapes(PROFILE, 1, "tfprof")).toEqual(["2x3", "2x3", undefined]);
});
