// Measures what the picture of a graph computes before it paints: `node js/bench/graph.mjs [nodes]`.

import { build } from "esbuild";

const count = Number(process.argv[2] ?? 100_000);
const REPEATS = 7;

const { outputFiles } = await build({
  stdin: {
    contents: ["graph_boxes", "graph_scene", "graph_layout", "graph_alignment"]
      .map((part) => `export * from "./js/src/analysis/${part}.ts";`)
      .join("\n"),
    resolveDir: ".",
  },
  bundle: true,
  format: "esm",
  write: false,
});
const source = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`;
const { GraphBoxes, GraphScenes, layersOf, middlesOf, ranksOf } = await import(source);
const ROOM = { width: 1000, height: 560 };

const profile = generated();
timed(`${count.toLocaleString("en")} nodes: closed`, () => {
  new GraphScenes(new GraphBoxes(profile), ROOM).scene(() => false);
});
const boxes = new GraphBoxes(profile);
const scenes = new GraphScenes(boxes, ROOM);
scenes.scene(() => false);
let next = 0;
timed("a box opened that was not open before", () => {
  const key = boxes.children(boxes.whole)[next++ % boxes.children(boxes.whole).length].key;
  scenes.scene((box) => box.key === key);
});
const edges = mesh(Math.min(count, 3000));
timed(`${edges.boxes.toLocaleString("en")} boxes in one scope, laid out`, () => {
  const { rank } = ranksOf(edges.boxes, edges);
  middlesOf(layersOf(rank, edges), new Float64Array(edges.boxes).fill(128), 22);
});

/** Blocks of scopes like a model's, each op taking from one or two before it. */
function generated() {
  const roll = dice(count);
  const names = [];
  for (let block = 0; names.length < count; block++) {
    const size = 40 + roll(60);
    for (let op = 0; op < size && names.length < count; op++) {
      const part = ["attention", "dense", "norm"][Math.floor((3 * op) / size)];
      names.push(`stage_${Math.floor(block / 90)}/block_${block}/${part}/op_${op}`);
    }
  }
  const made = names.map((name, at) => [name, at]).sort(([one], [other]) => (one < other ? -1 : 1));
  const rowOf = new Int32Array(count);
  made.forEach(([, at], row) => {
    rowOf[at] = row;
  });
  const start = new Int32Array(count + 1);
  const values = [];
  made.forEach(([, at], row) => {
    if (at > 0) values.push(rowOf[at - 1]);
    if (at > 8 && roll(2)) values.push(rowOf[at - 2 - roll(6)]);
    start[row + 1] = values.length;
  });
  const ops = ["MatMul", "AddV2", "Relu", "Mul", "Const"];
  return {
    nodes: {
      names: made.map(([name]) => name),
      ops,
      op: Int32Array.from({ length: count }, () => roll(ops.length)),
      inputs: { start, values: Int32Array.from(values) },
      outputShapes: { start: new Int32Array(count + 1), values: new Int32Array(0) },
      shapes: [],
    },
    stepTotals: { node: new Int32Array(0) },
  };
}

/** Boxes with 1.5 edges each, to boxes near by. */
function mesh(boxes) {
  const roll = dice(boxes);
  const [from, to] = [[], []];
  for (let box = 1; box < boxes; box++) {
    from.push(Math.max(box - 1 - roll(4), 0));
    to.push(box);
    if (roll(2)) {
      from.push(Math.max(box - 2 - roll(12), 0));
      to.push(box);
    }
  }
  return { boxes, from: Int32Array.from(from), to: Int32Array.from(to) };
}

/** A generator of the same numbers at each run, from 0 to below a limit. */
function dice(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function timed(what, work) {
  const took = Array.from({ length: REPEATS }, () => {
    const begun = performance.now();
    work();
    return performance.now() - begun;
  });
  const sorted = took.toSorted((one, other) => one - other);
  const [first, median, best] = [took[0], sorted[REPEATS >> 1], sorted[0]].map((each) => each.toFixed(1));
  console.log(`${what}: first ${first} ms, median ${median} ms, best ${best} ms`);
}
