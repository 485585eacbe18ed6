import { expect, test } from "vitest";
import { profileOf } from "../engine/testing.ts";
import { frameNamed, libraryOf, ownFrame, ownLine, stackOf } from "./frames.ts";

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

test("a gradient is there for the line of what it is the gradient of", () => {
  const profile = profileOf(`
    a = Add() | model.py:2:layer
    gradients/a_grad/Add = Add() | train.py:9:minimize
    gradients/c_grad/Add = Add() | train.py:9:minimize
  `);
  const line = (name: string) => ownLine(profile, profile.nodes.names.indexOf(name), [])?.name;
  expect(line("a")).toBe("model.py:2:layer");
  expect(line("gradients/a_grad/Add")).toBe("model.py:2:layer");
  expect(line("gradients/c_grad/Add")).toBe("train.py:9:minimize");
});

test("a node is at another line in steps whose function made it there", () => {
  const sketch = profileOf(`
    a = Add() 1us;1us;1us | first.py:2:layer
    b = Add() | first.py:3:layer
    gradients/a_grad/Add = Add() 1us;1us;1us | first.py:9:minimize
  `);
  const OTHERS: Readonly<Record<string, Int32Array>> = {
    group: Int32Array.of(-1, 0, 0),
    of: Int32Array.of(0),
    node: Int32Array.of(sketch.nodes.names.indexOf("a")),
    stack: Int32Array.of(sketch.nodes.names.indexOf("b")), // a sketch numbers stacks as nodes
    forward: Int32Array.of(-1),
  };
  const profile = {
    ...sketch,
    late: (name: string) => OTHERS[name.replace("other_stacks.", "")],
  };
  const gradient = profile.nodes.names.indexOf("gradients/a_grad/Add");
  const lines = (steps: readonly number[]) =>
    [0, gradient].map((node) => ownLine(profile, node, steps)?.line);
  expect(lines([0])).toEqual([2, 2]);
  expect(lines([1, 2])).toEqual([3, 3]);
  expect(lines([0, 1])).toEqual([2, 2]);
  const damaged = (change: object) => ({
    ...sketch,
    late: (name: string) => ({ ...OTHERS, ...change })[name.replace("other_stacks.", "")],
  });
  for (const change of [
    { node: Int32Array.of(3) },
    { stack: Int32Array.of(3) },
    { of: Int32Array.of(0, 0) },
  ]) {
    expect(() => ownLine(damaged(change), 0, [1])).toThrow("the other stacks do not fit");
  }
});

test("of a stack the innermost frame of the user's own counts", () => {
  const profile = profileOf(`
    a = Add() | train.py:1:main > model.py:2:layer > x/keras/ops.py:3:add
    b = Add() | x/keras/ops.py:3:add > x/keras/ops.py:4:deeper
    c = Add()
  `);
  expect(stackOf(profile, 0, []).map(({ name }) => name)).toEqual([
    "train.py:1:main",
    "model.py:2:layer",
    "ops.py:3:add",
  ]);
  expect(ownFrame(stackOf(profile, 0, []))).toMatchObject({
    file: "model.py",
    line: 2,
    function: "layer",
    library: "",
  });
  expect(ownFrame(stackOf(profile, 1, []))?.name).toBe("ops.py:4:deeper");
  expect(ownFrame(stackOf(profile, 2, []))).toBeUndefined();
  expect(frameNamed(profile, "model.py:2:layer (gradient)")?.line).toBe(2);
});
