// Replays recorded steps from the columns that the browser gets, and compares with what Python says of them.

import { expect, test } from "vitest";
import corpus from "../../../tests/conformance/replays.jsonl?raw";
import { type Prediction, type Replay, replayOf } from "../analysis/replay.ts";
import { decode } from "../data/wire.ts";
import { changedNodes } from "./what_if.ts";

interface Answers {
  readonly reason?: string;
  readonly measured: number;
  readonly replayed: number;
  readonly steps: number;
  readonly cases: readonly {
    readonly name: string;
    readonly key: string;
    readonly factor: number;
    readonly nodes: readonly number[];
    readonly seconds: number;
    readonly low: number;
    readonly high: number;
  }[];
}

const LINES = await Promise.all(
  corpus
    .trim()
    .split("\n")
    .map(async (line) => {
      const [name, packed, answers] = JSON.parse(line) as [string, string, Answers];
      return { name, profile: decode(await unpacked(packed)), answers };
    }),
);

test("the corpus is all there", () => {
  expect(LINES).toHaveLength(27);
  expect(LINES.filter(({ answers }) => answers.reason)).toHaveLength(2);
  expect(LINES.flatMap(({ answers }) => answers.cases ?? []).length).toBeGreaterThan(300);
});

test.each(LINES)("$name", ({ profile, answers }) => {
  const replay = replayOf(profile);
  if (answers.reason) {
    expect(replay).toBe(answers.reason);
    return;
  }
  expect(replay).toBeInstanceOf(Object);
  const found = replay as Replay;
  const unchanged = found.whatIf(new Float64Array(profile.nodes.op.length).fill(1));
  expect(unchanged.steps).toBe(answers.steps);
  expect(unchanged.predicted).toBe(unchanged.replayed);
  for (const { name, key, factor, nodes, ...seconds } of answers.cases) {
    const flags = changedNodes(profile, found, [name], key.startsWith("layer:"));
    // Python leaves out what did not run; the browser lets it be.
    const ran = nodesThatRan(profile);
    expect(
      Array.from(flags.keys()).filter((node) => flags[node] && ran.has(node)),
      key,
    ).toEqual(nodes);
    const prediction = found.whatIf(Float64Array.from(flags, (flag) => (flag ? factor : 1)));
    const { measured, replayed } = answers;
    expectSame(prediction, { ...seconds, measured, replayed }, `${key} ${factor}`);
  }
});

/** Equal but for the last digits of doubles. */
function expectSame(
  { predicted, ...found }: Prediction,
  expected: Readonly<Record<"seconds" | "low" | "high" | "measured" | "replayed", number>>,
  what: string,
): void {
  for (const name of ["low", "high", "measured", "replayed"] as const) {
    expect(Math.abs(found[name] / 1e9 - expected[name]), `${what}: ${name}`).toBeLessThan(
      1e-9 * expected[name],
    );
  }
  expect(Math.abs(predicted / 1e9 - expected.seconds), what).toBeLessThan(1e-9 * expected.seconds);
}

/** Those that are part of steps. */
function nodesThatRan({ executions, late }: ReturnType<typeof decode>): ReadonlySet<number> {
  const leftOut = new Set(late?.("replay.left_out", "indices") as Int32Array);
  const { node, startNanos } = executions;
  return new Set(node.filter((_, row) => (startNanos[row] as number) >= 0 && !leftOut.has(row)));
}

async function unpacked(packed: string): Promise<Uint8Array> {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
