import { expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import { profileOf } from "../engine/testing.ts";
import {
  frameNamed,
  libraryOf,
  makersOf,
  namesOfLine,
  ownFrame,
  ownLine,
  sourceLines,
  stackOf,
} from "./frames.ts";

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
  ["/tmp/__autograph_generated_file323.py", "tensorflow"],
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

/** Main calls f twice in a row of its own, and f calls itself by a library; b has a gradient, c is of a library alone. */
const CODE = profileOf(`
  a                  = Op() 1us 8B  | m.py:1:main > m.py:5:f
  b                  = Op() 2us 16B | m.py:2:main > m.py:5:f > /x/site-packages/k/k.py:7:call > m.py:5:f > m.py:6:g
  gradients/b_grad/x = Op() 4us 32B | m.py:3:main
  gradients/z_grad/x = Op() 8us 64B | m.py:3:main
  c                  = Op() 16us    | /x/site-packages/k/k.py:9:call
  d                  = Op() 32us    | n.py:1:other
`);

/** As in "m.py:5 3 4 56": forward, gradient, bytes. */
function drawnLines(profile: Profile): readonly string[] {
  return sourceLines(profile, withDefaults()).map(
    ({ file, line, forward, gradient, bytes }) => `${file}:${line} ${forward} ${gradient} ${bytes}`,
  );
}

test("a line has what it made with all that it calls, once, and apart the gradients of that", () => {
  expect(drawnLines(CODE)).toEqual([
    "n.py:1 32 0 0",
    "m.py:1 1 0 8",
    "m.py:2 2 4 48",
    "m.py:5 3 4 56",
    "m.py:6 2 4 48",
  ]);
});

test("only what is accounted counts", () => {
  const lines = sourceLines(profileOf("a = Add() 1us | m.py:1:f\nb = Mul() 2us | m.py:2:f"), {
    ...withDefaults(),
    accountTypeRegexes: ["Mul"],
  });
  expect(lines.map(({ line }) => line)).toEqual([2]);
});

test("a line is the rows of the code view that have it, gradients too", () => {
  const names = (line: number) => namesOfLine(CODE, { file: "m.py", line }, withDefaults());
  expect(names(1)).toEqual(["m.py:1:main"]);
  expect(names(5)).toEqual(["m.py:5:f", "m.py:5:f (gradient)"]);
  expect(names(3)).toEqual([]); // the gradient is counted at the line of what it is the gradient of
});

test("an op marks the line that made it, and not those that called that one", () => {
  const flags = Uint8Array.from(CODE.nodes.names, (name) => (name.startsWith("gradients/b") ? 1 : 0));
  const isMaker = makersOf(CODE, [0], flags);
  expect([1, 2, 5, 6].filter((line) => isMaker({ file: "m.py", line }))).toEqual([6]);
});

/** Main sleeps 5 ns and calls a library, which waits 7 ns for input; line 1 made the op of 3 µs as well. */
const SAMPLED: Readonly<Record<string, readonly string[] | readonly number[]>> = {
  ...{ "cells.workers": [""], "cells.parts": ["python"], "cells.nanos": [9000] },
  ...{ "cells.step_cell": [-1], "cells.step_start": [-1] },
  "frames.strings": ["m.py", "main", "sleep(1)", "/x/site-packages/k/k.py", "call", "fit()"],
  ...{ "frames.file": [0, 0, 3], "frames.line": [2, 1, 7], "frames.function": [1, 1, 4] },
  ...{ "frames.source": [2, 5, -1], "calls.above": [-1, -1, 1], "calls.frame": [0, 1, 2] },
  ...{ "calls.looks": [1, 1, 1], "calls.python": [5, 0, 0], "calls.input": [0, 0, 7] },
  "calls.tracing": [0, 0, 0],
};

test("sampled Python is told apart, also of lines that made no op", () => {
  const late = ((name: string, kind: string) => {
    const values = SAMPLED[name] ?? [];
    if (kind === "texts") return values;
    return kind === "numbers" ? Float64Array.from(values as number[]) : Int32Array.from(values as number[]);
  }) as NonNullable<Profile["late"]>;
  const withoutLayers = (name: string, kind: "indices" | "numbers" | "texts", isOptional?: boolean) =>
    name.startsWith("layers.") || name.startsWith("other_stacks") ? undefined : late(name, kind, isOptional);
  const profile = { ...profileOf("a = Op() 3us | m.py:1:main"), late: withoutLayers };
  const fresh = { file: "m.py", gradient: 0, update: 0, bytes: 0, python: 0, input: 0, tracing: 0 };
  expect(sourceLines(profile, withDefaults())).toEqual([
    { ...fresh, line: 1, source: "fit()", names: ["m.py:1:main"], forward: 3, input: 7 },
    { ...fresh, line: 2, source: "sleep(1)", names: ["m.py:2:main"], forward: 0, python: 5 },
  ]);
});
