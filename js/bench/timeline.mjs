// Measures what the timeline computes before it paints: layout, colours and the plan of a frame, a million slices.
//
//   node js/bench/timeline.mjs [slices]

import { build } from "esbuild";

const slices = Number(process.argv[2] ?? 1_000_000);
const [THREADS, NODES, WIDTH, FRAMES] = [16, 100_000, 2600, 30];

const parts = [
  "analysis/timeline_layout",
  "views/timeline/geometry",
  "views/timeline/spans",
  "views/timeline/state",
];
const { outputFiles } = await build({
  stdin: {
    contents: parts.map((part) => `export * from "./js/src/${part}.ts";`).join("\n"),
    resolveDir: ".",
  },
  bundle: true,
  format: "esm",
  write: false,
});
const code = Buffer.from(outputFiles[0].contents).toString("base64");
const { fitted, laidOut, paintedLanes, addLaneSpans, Spans, zoomed } = await import(
  `data:text/javascript;base64,${code}`
);

const profile = generated();
const layout = timed("layout", 5, () => laidOut(profile.executions, [0]));
const lanes = timed("colours", 5, () => paintedLanes(profile, profile.executions, layout, null));
const spans = new Spans();
const whole = fitted(layout.end);
timed("plan, fitted", FRAMES, () => plan(whole));
timed("plan, a thousandth", FRAMES, () => plan(zoomed(whole, 0.001, layout.end / 2, layout.end)));

function plan(viewport) {
  spans.clear();
  lanes.forEach((lane, number) => {
    addLaneSpans(spans, number, lane, viewport, WIDTH, profile.executions.step);
  });
}

/** Slices of 0.2 to 20 µs with short gaps between them, thread by thread. */
function generated() {
  let seed = 1;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const column = (make) => Int32Array.from({ length: slices }, make);
  const clock = new Float64Array(THREADS);
  const thread = column((_, slice) => slice % THREADS);
  const durationNanos = Float64Array.from({ length: slices }, () => Math.floor(200 * 100 ** random()));
  const startNanos = durationNanos.map((duration, slice) => {
    const start = clock[thread[slice]] + Math.floor(random() * 2000);
    clock[thread[slice]] = start + duration;
    return start;
  });
  const ops = ["Conv2D", "ReluGrad", "Relu", "Reshape", "IteratorGetNext", "NoOp"];
  const node = column(() => Math.floor(random() * NODES));
  return {
    nodes: { ops, op: Int32Array.from({ length: NODES }, (_, index) => index % ops.length) },
    executions: { node, step: column(() => 0), device: column(() => 0), thread, startNanos, durationNanos },
  };
}

function timed(what, times, work) {
  let result;
  const took = Array.from({ length: times }, () => {
    const begun = performance.now();
    result = work();
    return performance.now() - begun;
  }).sort((one, other) => one - other);
  const [best, median, worst] = [0, Math.floor(times / 2), times - 1].map((at) => took[at].toFixed(1));
  console.log(`${what}: best ${best} ms, median ${median} ms, worst ${worst} ms`);
  return result;
}
