// Measures what a move of the what-if slider computes: `node js/bench/replay.mjs [executions [steps]]`.

import { build } from "esbuild";

const [count, steps] = [Number(process.argv[2] ?? 5000), Number(process.argv[3] ?? 1)];
const REPEATS = 25;

const { outputFiles } = await build({
  stdin: { contents: 'export { replayOf } from "./js/src/analysis/replay.ts";', resolveDir: "." },
  bundle: true,
  format: "esm",
  write: false,
});
const source = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`;
const { replayOf } = await import(source);

const { executions, late } = recorded();
const begun = performance.now();
const replay = replayOf({ executions, late });
console.log(
  `${steps} × ${count} executions on two threads: read in ${(performance.now() - begun).toFixed(1)} ms`,
);
const took = Array.from({ length: REPEATS }, (_, move) => {
  const factors = Float64Array.from({ length: count }, (_, node) => (node % 3 ? 1 : (2 * move) / REPEATS));
  const start = performance.now();
  replay.whatIf(factors);
  return performance.now() - start;
});
const sorted = [...took].sort((one, other) => one - other);
console.log(
  `a move: ${sorted[REPEATS >> 1].toFixed(1)} ms in the median, ${took[0].toFixed(1)} ms the first one`,
);

/** Steps in which each op waits for one or two of the last eight, as two threads ran them; columns as Python sends them. */
function recorded() {
  const roll = dice(count);
  const [node, step, startNanos, durationNanos] = [[], [], [], []];
  const [gives, targets] = [[], []];
  for (let at = 0; at < steps; at++) {
    const free = [0, 0];
    const takers = Array.from({ length: count }, () => []);
    const ends = [];
    for (let row = 0; row < count; row++) {
      const inputs = row
        ? [...new Set([row - 1 - roll(Math.min(row, 8)), row - 1 - roll(Math.min(row, 8))])]
        : [];
      for (const each of inputs) takers[each].push(row - each);
      const thread = free[0] <= free[1] ? 0 : 1;
      const start = Math.max(free[thread], ...inputs.map((each) => ends[each]));
      free[thread] = ends[row] = start + 2000 + roll(60_000);
      node.push(row);
      step.push(at);
      startNanos.push(start);
      durationNanos.push(ends[row] - start);
    }
    for (const each of takers) {
      gives.push(2 * each.length + (roll(3) ? 0 : 1));
      targets.push(...each);
    }
  }
  const columns = {
    steps: Int32Array.from({ length: steps }, (_, at) => at),
    sent: new Int32Array(steps).fill(count),
    workers: new Int32Array(steps).fill(2),
    before: new Float64Array(steps),
    after: new Float64Array(steps),
    measured: new Float64Array(steps).fill(1),
    gap: new Float64Array(steps * count),
    fitted: Float64Array.of(0.5, 1, 1),
    gives: Int32Array.from(gives),
    targets: Int32Array.from(targets),
  };
  return {
    executions: {
      node: Int32Array.from(node),
      step: Int32Array.from(step),
      startNanos: Float64Array.from(startNanos),
      durationNanos: Float64Array.from(durationNanos),
    },
    late: (name) => columns[name.replace("replay.", "")],
  };
}

/** Numbers that look random, and are the same each time. */
function dice(seed) {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % sides;
  };
}
