import { expect, test } from "vitest";
import { profileOf } from "../engine/testing.ts";
import { nodesBehind, selectionAfter } from "./selection.ts";

const PROFILE = profileOf(`
  conv      = Conv2D()  | train.py:1:main > model.py:2:layer
  conv/bias = BiasAdd() | train.py:1:main > model.py:3:layer
  conv2     = Conv2D()  | train.py:9:test
  gradients/conv_grad/Mul = Mul() | train.py:5:minimize
  Ω/x       = Add()
`);

function behind(...names: string[]): string[] {
  const flags = nodesBehind(PROFILE, names);
  return PROFILE.nodes.names.filter((_, node) => flags?.[node]);
}

test.each([
  [["conv2"], ["conv2"]],
  [["conv"], ["conv", "conv/bias"]],
  [["gradients"], ["gradients/conv_grad/Mul"]],
  [["Ω"], ["Ω/x"]],
  [["Conv2D"], ["conv", "conv2"]],
  [
    ["conv/bias", "Mul"],
    ["conv/bias", "gradients/conv_grad/Mul"],
  ],
  [["train.py:1:main"], ["conv", "conv/bias"]],
  [["model.py:2:layer"], ["conv"]],
  // As in the code view: a gradient is below the line of its forward node, not where it was made.
  [["model.py:2:layer (gradient)"], ["gradients/conv_grad/Mul"]],
  [["train.py:5:minimize"], []],
  [["nowhere.py:1:x"], []],
  [["_TFProfRoot"], ["conv", "conv/bias", "conv2", "gradients/conv_grad/Mul", "Ω/x"]],
])("behind %j are %j", (names, nodes) => {
  expect(behind(...names)).toEqual(nodes);
});

test("behind a frame are the nodes that it made in the steps shown", () => {
  const sketch = profileOf(`
    a = Add() 1us;1us | first.py:1:train
    b = Add() 1us;1us | second.py:1:train
  `);
  const others: Readonly<Record<string, Int32Array>> = {
    "other_stacks.group": Int32Array.of(-1, 0),
    "other_stacks.of": Int32Array.of(0),
    "other_stacks.node": Int32Array.of(0),
    "other_stacks.stack": Int32Array.of(1), // a sketch numbers stacks as nodes
    "other_stacks.forward": Int32Array.of(-1),
  };
  const profile = { ...sketch, late: (name: string) => others[name] };
  const behindLine = (line: string, steps: readonly number[]) => [
    ...(nodesBehind(profile, [line], steps) ?? []),
  ];
  expect(behindLine("second.py:1:train", [0])).toEqual([0, 1]);
  expect(behindLine("second.py:1:train", [1])).toEqual([1, 1]);
  expect(behindLine("first.py:1:train", [1])).toEqual([0, 0]);
  expect(behindLine("first.py:1:train", [0, 1])).toEqual([1, 0]);
});

test("behind no name is nothing, which is not the same as none of the nodes", () => {
  expect(nodesBehind(PROFILE, [])).toBeNull();
  expect(nodesBehind(PROFILE, ["unknown"])).toEqual(new Uint8Array(5));
});

test.each([
  [[], "a", false, ["a"]],
  [["a"], "a", false, []],
  [["a", "b"], "a", false, ["a"]],
  [["a"], "b", false, ["b"]],
  [["a"], "b", true, ["a", "b"]],
  [["a", "b"], "a", true, ["b"]],
])("of %j, a click on %s, adding: %s", (selection, name, adds, expected) => {
  expect(selectionAfter(selection, name, adds)).toEqual(expected);
});

test("a layer is its nodes in all passes, where no scope has its name", () => {
  const sketch = profileOf(
    "adam/mul = Mul()\ngrad/net/d1/mul = MatMul()\nnet/d1/mul = MatMul()\nnet/d2/mul = MatMul()",
  );
  const columns: Readonly<Record<string, unknown>> = {
    "layers.names": ["net", "d1", "d2", "adam"],
    "layers.types": ["", "", "", ""],
    "layers.parent": Int32Array.of(-1, 0, 0, -1),
    "layers.layer": Int32Array.of(1, 1, 1, 2),
    "layers.role": new Int32Array(4),
  };
  const profile = { ...sketch, late: (name: string) => columns[name] };
  expect([...(nodesBehind(profile, ["d1"]) ?? [])]).toEqual([1, 1, 1, 0]);
  // Those are scopes, which tables show as rows of these names.
  expect([...(nodesBehind(profile, ["net"]) ?? [])]).toEqual([0, 0, 1, 1]);
  expect([...(nodesBehind(profile, ["adam"]) ?? [])]).toEqual([1, 0, 0, 0]);
});
