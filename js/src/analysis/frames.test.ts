import { expect, test } from "vitest";
import { profileOf } from "../engine/testing.ts";
import { frameNamed, libraryOf, ownFrame, stackOf } from "./frames.ts";

test.each([
  ["/home/me/train.py", ""],
  ["/tmp/ipykernel_12/345.py", ""],
  ["/venv/lib/python3.11/site-packages/keras/src/layer.py", "keras"],
  ["/usr/lib/python3/dist-packages/six.py", "six"],
  ["C:\\Python\\Lib\\site-packages\\numpy\\core.py", "numpy"],
  ["/src/tensorflow/python/framework/ops.py", "tensorflow"],
  ["/src/tfprof_widget/capturing/hooks.py", "tfprof_widget"],
  ["/usr/lib/python3.11/runpy.py", "python"],
  ["<frozen runpy>", "python"],
  ["/home/me/my_keras/model.py", ""],
])("%s is of the library %j", (file, library) => {
  expect(libraryOf(file)).toBe(library);
});

test("of a stack the innermost frame of the user's own counts", () => {
  const profile = profileOf(`
    a = Add() | train.py:1:main > model.py:2:layer > x/keras/ops.py:3:add
    b = Add() | x/keras/ops.py:3:add > x/keras/ops.py:4:deeper
    c = Add()
  `);
  expect(stackOf(profile, 0).map(({ name }) => name)).toEqual([
    "train.py:1:main",
    "model.py:2:layer",
    "ops.py:3:add",
  ]);
  expect(ownFrame(stackOf(profile, 0))).toMatchObject({
    file: "model.py",
    line: 2,
    function: "layer",
    library: "",
  });
  expect(ownFrame(stackOf(profile, 1))?.name).toBe("ops.py:4:deeper");
  expect(ownFrame(stackOf(profile, 2))).toBeUndefined();
  expect(frameNamed(profile, "model.py:2:layer (gradient)")?.line).toBe(2);
});
