import { expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import { ROLES } from "../engine/layers.ts";
import { measures } from "../engine/measures.ts";
import { profileOf } from "../engine/testing.ts";
import { type Box, GraphBoxes } from "./graph_boxes.ts";
import { outputBytes } from "./graph_edges.ts";
import { neighbourOf } from "./graph_moves.ts";
import { GraphScenes, type Scene } from "./graph_scene.ts";

const ROOM = { width: 1000, height: 600 };

/** The children of a box by label, with how many they stand for. */
function labels(boxes: GraphBoxes, box: Box = boxes.whole): string[] {
  return boxes.children(box).map(({ label, times }) => (times > 1 ? `${label} × ${times}` : label));
}

function boxNamed({ boxes }: Scene, label: string) {
  const found = boxes.find(({ box }) => box.label === label);
  if (!found) throw new Error(`${label} is not drawn`);
  return found;
}

/** Edges as "a > b", with "outside" for what is outside of a scope. */
function edgesOf({ boxes, edges }: Scene): string[] {
  const name = (at: number) => boxes[at]?.box.label ?? "outside";
  return edges.map(({ from, to }) => `${name(from)} > ${name(to)}`).sort();
}

/** A profile with columns of layers, as wire.py writes them: names with those above them, and the layer and role of nodes. */
function layered(
  profile: Profile,
  layers: readonly (readonly [name: string, type: string, parent: number])[],
  ofNode: (name: string) => readonly [layer: number, role: (typeof ROLES)[number]],
): Profile {
  const told = profile.nodes.names.map(ofNode);
  const columns: Record<string, unknown> = {
    "layers.names": layers.map(([name]) => name),
    "layers.types": layers.map(([, type]) => type),
    "layers.parent": Int32Array.from(layers, ([, , parent]) => parent),
    "layers.layer": Int32Array.from(told, ([layer]) => layer),
    "layers.role": Int32Array.from(told, ([, role]) => ROLES.indexOf(role)),
  };
  return { ...profile, late: (name) => columns[name] };
}

const CHAIN = profileOf(`
  x = Placeholder() 1us
  a/w = VariableV2()
  a/read = Identity(a/w)
  a/mul = MatMul(x, a/read) 4us
  a/c = Const()
  a/add = Add(a/mul, a/c) 2us
  b/relu = Relu(a/add) 3us
  out = Sum(b/relu) 1us`);

test("scopes are boxes, and what reads variables and constants is put aside", () => {
  const boxes = new GraphBoxes(CHAIN);
  expect(labels(boxes)).toEqual(["a", "b", "out", "x"]);
  expect(labels(boxes, boxes.children(boxes.whole)[0])).toEqual(["add", "mul"]);
  const { names } = CHAIN.nodes;
  expect(names.filter((_, node) => boxes.isAside[node])).toEqual(["a/c", "a/read", "a/w"]);
});

test("edges go between boxes; within an open one from and to the outside", () => {
  const scenes = new GraphScenes(new GraphBoxes(CHAIN), ROOM);
  expect(edgesOf(scenes.scene(() => false))).toEqual(["a > b", "b > out", "x > a"]);
  expect(edgesOf(scenes.scene(({ label }) => label === "a"))).toEqual([
    "a > b",
    "add > outside",
    "b > out",
    "mul > add",
    "outside > mul",
    "x > a",
  ]);
});

test("boxes stand below those that they take from, and none overlap", () => {
  const scene = new GraphScenes(new GraphBoxes(CHAIN), ROOM).scene(() => false);
  const [x, a, b, out] = ["x", "a", "b", "out"].map((label) => boxNamed(scene, label).y) as [
    number,
    number,
    number,
    number,
  ];
  expect(x).toBeLessThan(a);
  expect(a).toBeLessThan(b);
  expect(b).toBeLessThan(out);
  overlapFree(scene);
});

function overlapFree({ boxes }: Scene): void {
  for (const one of boxes) {
    for (const other of boxes) {
      if (one === other || one.scope !== other.scope) continue;
      const isApart =
        one.x + one.width <= other.x ||
        other.x + other.width <= one.x ||
        one.y + one.height <= other.y ||
        other.y + other.height <= one.y;
      expect(isApart, `${one.box.label} and ${other.box.label}`).toBe(true);
    }
  }
}

test("when a box opens, those above it stay, and those below only move down", () => {
  const scenes = new GraphScenes(new GraphBoxes(CHAIN), ROOM);
  const [closed, open] = [scenes.scene(() => false), scenes.scene(({ label }) => label === "a")];
  const middle = (scene: Scene, label: string) => {
    const { x, width, y } = boxNamed(scene, label);
    return { x: x + width / 2, y };
  };
  // The column becomes wider on both sides; the screen follows the box that opened.
  const by = middle(open, "a").x - middle(closed, "a").x;
  expect(middle(open, "x")).toEqual({ x: middle(closed, "x").x + by, y: middle(closed, "x").y });
  expect(middle(open, "a").y).toBe(middle(closed, "a").y);
  const grown = boxNamed(open, "a").height - boxNamed(closed, "a").height;
  for (const label of ["b", "out"]) {
    expect(middle(open, label)).toEqual({
      x: middle(closed, label).x + by,
      y: middle(closed, label).y + grown,
    });
  }
  overlapFree(open);
});

test("a column that opens moves those to its right, and none of them up or down", () => {
  const wide = profileOf(
    ["s0/a = Add() 1us", "s0/b = Mul(s0/a) 1us"]
      .concat(
        Array.from({ length: 29 }, (_, at) => [
          `s${at + 1}/a = Add(s${at}/b) 1us`,
          `s${at + 1}/b = Mul(s${at + 1}/a) 1us`,
        ]).flat(),
      )
      .map((line, at) => line.replace("Add", `Add${at}`))
      .join("\n"),
  );
  const scenes = new GraphScenes(new GraphBoxes(wide), ROOM);
  const [closed, open] = [scenes.scene(() => false), scenes.scene(({ label }) => label === "s1")];
  const columns = new Set(closed.boxes.map(({ x }) => x)).size;
  expect(columns).toBeGreaterThan(1);
  const isBelow = (label: string) => boxNamed(closed, label).x === boxNamed(closed, "s1").x;
  for (const { box, y } of closed.boxes) {
    if (!isBelow(box.label)) expect(boxNamed(open, box.label).y).toBe(y);
  }
  overlapFree(open);
});

test("layers come in the order of the model; gradients and updates are boxes in them, and go no edges between layers", () => {
  const trained = layered(
    profileOf(`
      in = Placeholder() 1us
      d1/mul = MatMul(in) 4us
      d2/mul = MatMul(d1/mul) 4us
      grad/d2/mul = MatMul(d2/mul) 2us
      grad/d1/mul = MatMul(grad/d2/mul, d1/mul) 2us
      adam/d1 = ApplyAdam(grad/d1/mul) 1us
      adam/d2 = ApplyAdam(grad/d2/mul) 1us`),
    [
      ["d1", "Dense", -1],
      ["d2", "Dense", -1],
      ["no layer", "", -1],
      ["input", "", 2],
    ],
    (name) => [
      name.includes("d1") ? 0 : name.includes("d2") ? 1 : 3,
      name.startsWith("grad")
        ? "backward"
        : name.startsWith("adam")
          ? "update"
          : name === "in"
            ? "input"
            : "forward",
    ],
  );
  const boxes = new GraphBoxes(trained);
  expect(labels(boxes)).toEqual(["d1", "d2", "input"]);
  const scenes = new GraphScenes(boxes, ROOM);
  expect(edgesOf(scenes.scene(() => false))).toEqual(["d1 > d2", "input > d1"]);
  const d1 = boxes.children(boxes.whole)[0] as Box;
  expect(labels(boxes, d1)).toEqual(["mul", "gradients", "update"]);
  const open = scenes.scene((box) => box === d1);
  expect(edgesOf(open)).toContain("gradients > update");
  // What gradients take of the way forward is told, and not drawn.
  const told = open.edges.filter(({ route }) => !route.length).map(({ to }) => open.boxes[to]?.box.label);
  expect(new Set(told)).toEqual(new Set(["gradients"]));
});

test("blocks of the same structure are one box, which opens into them", () => {
  const blocks = Array.from({ length: 12 }, (_, at) =>
    [
      `block_${at}/mul = MatMul(${at ? `block_${at - 1}/add` : "stem"}) 1us`,
      `block_${at}/relu = Relu(block_${at}/mul) 1us`,
      `block_${at}/add = Add(block_${at}/relu, block_${at}/mul) 1us`,
    ].join("\n"),
  );
  const boxes = new GraphBoxes(
    profileOf(["stem = Conv2D() 1us", ...blocks, "head = Sum(block_11/add) 1us"].join("\n")),
  );
  expect(labels(boxes).sort()).toEqual(["block_0 × 12", "head", "stem"]);
  const fold = boxes.children(boxes.whole).find(({ times }) => times === 12) as Box;
  expect(labels(boxes, fold)).toEqual(Array.from({ length: 12 }, (_, at) => `block_${at}`));
  const scene = new GraphScenes(boxes, ROOM).scene(() => false);
  expect(edgesOf(scene)).toEqual(["block_0 > head", "stem > block_0"]);
  // It is selected as the scopes that it stands for.
  expect(boxes.namesOf(fold)).toEqual(Array.from({ length: 12 }, (_, at) => `block_${at}`));
});

test("a node is found in the boxes around it", () => {
  const boxes = new GraphBoxes(CHAIN);
  const path = (name: string) => boxes.pathTo(CHAIN.nodes.names.indexOf(name)).map(({ label }) => label);
  expect(path("a/mul")).toEqual(["a", "mul"]);
  // What is put aside has no box, but stands in one.
  expect(path("a/c")).toEqual(["a"]);
});

test("arrow keys go along the edges, into an open box and out of it", () => {
  const scene = new GraphScenes(new GraphBoxes(CHAIN), ROOM).scene(({ label }) => label === "a");
  const at = (label: string) => scene.boxes.findIndex(({ box }) => box.label === label);
  const go = (label: string, direction: "up" | "down") =>
    scene.boxes[neighbourOf(scene, at(label), direction)]?.box.label;
  expect(go("x", "down")).toBe("a");
  expect(go("a", "down")).toBe("mul");
  expect(go("mul", "down")).toBe("add");
  expect(go("mul", "up")).toBe("a");
  expect(go("b", "up")).toBe("a");
  expect(go("out", "down")).toBe("out");
  expect(scene.boxes[neighbourOf(scene, -1, "down")]?.box.label).toBe("x");
});

test("edges weigh what is put out: as recorded, else by shapes as float32", () => {
  const recorded = profileOf("a = Add() 1us\nb = Mul(a) 1us");
  const { nodes, stepTotals } = recorded;
  const profile = {
    ...recorded,
    nodes: {
      ...nodes,
      shapes: ["64x784", "?x3"],
      outputShapes: { start: Int32Array.of(0, 1, 3), values: Int32Array.of(0, 0, 1) },
    },
    stepTotals: { ...stepTotals, outputBytes: Float64Array.of(0, 12) },
  };
  const found = outputBytes(profile, measures(profile, withDefaults()));
  // 64 × 784 numbers of four bytes; and the twelve that were recorded.
  expect([...found]).toEqual([200_704, 12]);
});

test("a graph of constants alone is an empty picture", () => {
  const scene = new GraphScenes(new GraphBoxes(profileOf("a = Const()")), ROOM).scene(() => true);
  expect(scene).toEqual({ boxes: [], edges: [], width: 0, height: 0 });
});

test("a loop of the graph is drawn, with the edge that leads back at the side", () => {
  const loop = profileOf(
    "enter = Enter() 1us\nmerge = Merge(enter, next) 1us\nbody = Add(merge) 1us\nnext = NextIteration(body) 1us",
  );
  const scene = new GraphScenes(new GraphBoxes(loop), ROOM).scene(() => false);
  const back = scene.edges.filter(({ isBack }) => isBack);
  expect(back.map(({ from, to }) => [from, to].map((at) => scene.boxes[at]?.box.label))).toEqual([
    ["next", "merge"],
  ]);
});

test("of very many boxes in a scope the largest are drawn, and the others are one", () => {
  // Names of letters alone, each of an op type of its own, so that nothing is folded.
  const name = (at: number) =>
    `${String.fromCharCode(97 + (at % 26))}${String.fromCharCode(97 + Math.floor(at / 26))}`;
  const many = Array.from({ length: 400 }, (_, at) => `${name(at)} = Op${name(at)}() 1us`).join("\n");
  const boxes = new GraphBoxes(profileOf(many));
  const drawn = boxes.children(boxes.whole);
  expect(drawn.length).toBe(300);
  expect(drawn.at(-1)?.label).toBe("101 more");
  expect(drawn.reduce((sum, { nodes }) => sum + nodes.length, 0)).toBe(400);
});

test("names that differ only by a slash at the end are two boxes, and end", () => {
  const boxes = new GraphBoxes(profileOf("a = Add() 1us\na/ = Mul(a) 1us\na/b = Mul(a) 1us"));
  const [inner] = boxes.children(boxes.whole);
  expect(boxes.children(boxes.whole).length).toBeGreaterThanOrEqual(2);
  expect(inner?.kind).toBe("node");
});

test("an edge along which nothing goes is a control edge, and is told and dotted as one", () => {
  const profile = profileOf(`
    x = Placeholder() 1us
    y = Sum(x) 1us
    z = Exp(x, y) 1us
    z2 = Exp(z, z) 1us`);
  const { nodes } = profile;
  // z takes x and waits for y; z2 takes z and waits for it as well.
  const inputPorts = Int32Array.of(0, 0, -1, 0, -1);
  const boxes = new GraphBoxes({ ...profile, nodes: { ...nodes, inputPorts } });
  const scene = new GraphScenes(boxes, ROOM).scene(() => false);
  const name = (at: number) => scene.boxes[at]?.box.label;
  const control = scene.edges.filter(({ sources }) => !sources.length);
  expect(control.map(({ from, to }) => `${name(from)} > ${name(to)}`)).toEqual(["y > z"]);
  expect(edgesOf(scene)).toEqual(["x > y", "x > z", "y > z", "z > z2"]);
});
