import { describe, expect, test } from "vitest";
import type { Lane } from "./lanes.ts";
import { addLaneSpans, GAP, RECEDING, Spans } from "./spans.ts";

type Slice = readonly [start: number, end: number, colour: number];

/** The runs of a lane in a hundred pixels: a letter a category, "-" a gap, "." nothing; a capital is highlighted, a small one recedes. */
function planned(slices: readonly Slice[], from = 0, to = 1000, step = slices.map(() => 0)): string {
  const lane: Lane = {
    device: 0,
    thread: 0,
    name: "",
    level: 0,
    isTransfers: false,
    start: Float64Array.from(slices, ([start]) => start),
    end: Float64Array.from(slices, ([, end]) => end),
    execution: Int32Array.from(slices.keys()),
  };
  const runs = new Spans();
  addLaneSpans(
    runs,
    0,
    { lane, colour: Uint8Array.from(slices, ([, , colour]) => colour) },
    { from, to },
    100,
    Int32Array.from(step),
  );
  const pixels = Array.from({ length: 100 }, () => ".");
  for (let run = 0; run < runs.length; run++) {
    const colour = runs.colour[run] as number;
    const letter = colour === GAP ? "-" : (("ABCDEFT........abcdeft"[colour] as string) ?? "?");
    for (let pixel = runs.left[run] as number; pixel < (runs.right[run] as number); pixel++) {
      expect(pixels[pixel]).toBe("."); // nothing is painted twice
      pixels[pixel] = letter;
    }
  }
  return pixels.join("").replace(/\.+$/, "");
}

describe("addLaneSpans", () => {
  test("a slice from start to end, parted from the next by a pixel", () => {
    expect(
      planned([
        [0, 60, 0],
        [60, 100, 1],
      ]),
    ).toBe("AAAAA.BBB");
  });

  test("what takes no time is still seen", () => {
    expect(
      planned([
        [20, 20, 0],
        [40, 40.001, 1],
      ]),
    ).toBe("..A.B");
  });

  test("of a pixel with many slices the colour that covers most of it, not the last or the most frequent", () => {
    expect(
      planned([
        [0, 1, 1],
        [1, 2, 1],
        [2, 7, 0],
        [7, 9, 1],
      ]),
    ).toBe("A");
  });

  test("what is highlighted is seen even where most recedes", () => {
    expect(
      planned([
        [0, 8, RECEDING],
        [8, 8.1, 2],
        [8.2, 9, RECEDING],
        [11, 19, RECEDING + 1],
      ]),
    ).toBe("Cb");
  });

  test("a gap is marked from some pixels on, within a step", () => {
    const slices: Slice[] = [
      [0, 20, 0],
      [40, 60, 1],
      [110, 115, 2],
    ];
    expect(planned(slices)).toBe("AA..BB-----C");
    expect(planned(slices, 0, 1000, [0, 0, 1])).toBe("AA..BB.....C");
  });

  test("nor is the space before a long slice of another step one", () => {
    const slices: Slice[] = [
      [0, 20, 0],
      [90, 110, 1],
    ];
    expect(planned(slices)).toBe("AA-------BB");
    expect(planned(slices, 0, 1000, [0, 1])).toBe("AA.......BB");
  });

  test("only what is seen is planned: cut at both ends, with the gaps that lead out of sight", () => {
    const slices: Slice[] = [
      [0, 600, 0],
      [700, 710, 1],
      [1500, 1600, 2],
    ];
    expect(planned(slices, 500, 1000)).toBe(`${"A".repeat(19)}.${"-".repeat(20)}BB${"-".repeat(58)}`);
  });

  test("nothing in sight is nothing, but for the gap it lies in", () => {
    expect(
      planned(
        [
          [0, 10, 0],
          [900, 910, 0],
        ],
        300,
        400,
      ),
    ).toBe("-".repeat(100));
    expect(planned([[0, 10, 0]], 300, 400)).toBe("");
  });

  test("more runs than there was room for", () => {
    const runs = new Spans();
    for (let run = 0; run < 10_000; run++) runs.add(run * 2, run * 2 + 1, 0, run, run % 6);
    expect([runs.length, runs.left[9999], runs.slice[5000]]).toEqual([10_000, 19_998, 5000]);
  });
});
