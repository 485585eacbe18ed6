// Prints how long an evaluation takes over random profiles, as medians in milliseconds: `node js/bench/engine.mjs`.

import { build } from "esbuild";

const REPEATS = 31;

const { outputFiles } = await build({
  stdin: {
    contents: [
      'import { extend } from "./evaluate.ts"; import { EXTENSION } from "./extension.ts"; extend(EXTENSION);',
      'export * from "./evaluate.ts"; export * from "../data/options.ts";',
    ].join(""),
    resolveDir: "js/src/engine",
    loader: "ts",
  },
  bundle: true,
  format: "esm",
  write: false,
});
const source = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`;
const { evaluate, withDefaults } = await import(source);

/** A generator of the same numbers at each run, from 0 to below a limit. */
function dice(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function randomProfile(count, steps) {
  const roll = dice(count);
  const names = new Set();
  while (names.size < count) {
    const scopes = [
      `layer_${roll(24)}`,
      `block_${roll(8)}`,
      `${["conv", "dense", "norm"][roll(3)]}_${roll(4)}`,
      `unit_${roll(6)}`,
    ];
    names.add([...scopes.slice(0, roll(5)), `node_${names.size}`].join("/"));
  }
  const ops = Array.from({ length: 60 }, (_, op) => `Op${String(op).padStart(2, "0")}`);
  const numbers = (length, limit) => Float64Array.from({ length }, () => roll(limit));
  const indices = (length, limit) => Int32Array.from({ length }, () => roll(limit));
  const each = (length, width) => Int32Array.from({ length: length + 1 }, (_, i) => i * width);
  const op = indices(count, ops.length);
  const seen = count * steps;
  return {
    nodes: {
      names: [...names].sort(),
      ops,
      op,
      typeNames: ops,
      types: { start: each(count, 1), values: op },
      devices: ["/device:cpu:0", "/device:gpu:0"],
      device: indices(count, 2),
      inputs: {
        start: each(count, 2),
        values: Int32Array.from({ length: 2 * count }, (_, i) => roll((i >> 1) + 1) - 1),
      },
      parameters: numbers(count, 1000),
      floatOps: numbers(count, 1_000_000),
    },
    steps: Array.from({ length: steps }, (_, step) => step),
    stepNames: Array.from({ length: steps }, () => ""),
    stepWorkers: [],
    stepTotals: {
      node: Int32Array.from({ length: seen }, (_, i) => Math.floor(i / steps)),
      step: Int32Array.from({ length: seen }, (_, i) => i % steps),
      acceleratorNanos: numbers(seen, 50_000),
      cpuNanos: numbers(seen, 50_000),
      acceleratorMicros: numbers(seen, 50),
      cpuMicros: numbers(seen, 50),
      runCount: numbers(seen, 3),
      requestedBytes: numbers(seen, 1e6),
      peakBytes: numbers(seen, 1e6),
      residualBytes: numbers(seen, 1e6),
      outputBytes: numbers(seen, 1e6),
    },
    traces: randomTraces(count, indices, each),
  };
}

function randomTraces(count, indices, each) {
  const [frames, stacks, depth] = [300, 200, 20];
  return {
    strings: Array.from({ length: 100 }, (_, i) => `file_${i}.py`),
    file: indices(frames, 100),
    line: indices(frames, 500),
    function: indices(frames, 100),
    source: indices(frames, 100),
    stacks: { start: each(stacks, depth), values: indices(stacks * depth, frames) },
    stack: indices(count, stacks),
    forward: new Int32Array(count).fill(-1),
  };
}

/** What the front end reads of a view to draw it. */
function shown(profile, kind, options) {
  const view = evaluate(profile, kind, withDefaults(options));
  return view.parent.length + view.depth.length + view.own("micros")[0] + view.total("micros")[0];
}

function milliseconds(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function median(values) {
  return values.toSorted((one, other) => one - other)[values.length >> 1];
}

const MOVES = {
  min_micros: (i) => ({ minMicros: 10 * i }),
  "min_micros by micros": (i) => ({ minMicros: 10 * i, orderBy: "micros" }),
  "max_depth by micros": (i) => ({ maxDepth: 2 + (i % 6), orderBy: "micros" }),
  "min_params by micros (not closed)": (i) => ({ minParams: 10 * i, orderBy: "micros" }),
  "displayed only by micros": (i) => ({ minMicros: 10 * i, orderBy: "micros", accountDisplayedOpOnly: true }),
  "a new regex": (i) => ({ showNameRegexes: [`.*(conv|dense)_${i}.*`], orderBy: "micros" }),
  "a new account regex": (i) => ({ accountTypeRegexes: [`Op.*[${i % 10}]`], orderBy: "micros" }),
};

for (const count of [2_000, 100_000]) {
  const profile = randomProfile(count, 3);

  console.log(`${count.toLocaleString("en")} nodes, 3 steps`);
  for (const kind of ["scope", "graph", "code", "op"]) {
    const first = milliseconds(() => shown(profile, kind, { orderBy: "micros" }));
    const rows = evaluate(profile, kind, withDefaults()).rows.toLocaleString("en");
    console.log(`  ${kind}: ${rows} rows, first ${first.toFixed(1)}`);
    for (const [name, options] of Object.entries(MOVES)) {
      const work = (i) => milliseconds(() => shown(profile, kind, options(i)));
      const times = Array.from({ length: REPEATS }, (_, i) => work(i));
      console.log(
        `    ${name.padEnd(34)} ${median(times).toFixed(2).padStart(7)}  most ${Math.max(...times).toFixed(2)}`,
      );
    }
  }
}
