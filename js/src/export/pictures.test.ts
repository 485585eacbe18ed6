import { expect, test } from "vitest";
import { withResolution } from "./pictures.ts";

test("a PNG says how large it is: 192 dots to an inch are 7559 to a metre", () => {
  // The head of a PNG of one dot, and its end.
  const head = [
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0,
  ];
  const picture = Uint8Array.from([...head, 31, 21, 196, 137, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130]);
  const found = withResolution(picture, 192);
  // As ImageMagick writes the part: length, name, both directions, the unit, and the checksum.
  const part = [0, 0, 0, 9, 112, 72, 89, 115, 0, 0, 29, 135, 0, 0, 29, 135, 1, 143, 229, 241, 101];
  expect([...found.slice(33, 54)]).toEqual(part);
  expect([...found.slice(0, 33), ...found.slice(54)]).toEqual([...picture]);
});
