import { expect, test } from "vitest";
import { profileOf } from "../engine/testing.ts";
import { wholeLayout } from "./cell_lanes.ts";
import { PART, PARTS, TRANSFER } from "./spans.ts";
import { executionsOf } from "./testing.ts";

// A cell of 20 µs: step 0 began at 5 µs, step 1 at 15 µs. The user's main calls keras' fit, which calls on_end.
const CELL: Readonly<Record<string, unknown>> = {
  "cells.workers": [""],
  "cells.parts": ["steps", "python", "input"],
  "cells.nanos": Float64Array.of(20000),
  "cells.step_cell": Int32Array.of(0, 0),
  "cells.step_start": Float64Array.of(5000, 15000),
  "runs.kinds": ["train"],
  "runs.cell": Int32Array.of(0, 0),
  "runs.kind": Int32Array.of(0, 0),
  "runs.count": Int32Array.of(1, 3),
  "runs.mark": Int32Array.of(3, 0),
  "runs.step": Int32Array.of(0, -1),
  "runs.start": Float64Array.of(4500, 14000),
  "runs.end": Float64Array.of(7000, 19000),
  "runs.nanos": Float64Array.of(2500, 3000),
  "phases.names": ["step", "Slow.on_epoch_end"],
  "phases.cell": Int32Array.of(0, 0),
  "phases.name": Int32Array.of(0, 1),
  "phases.start": Float64Array.of(4500, 7000),
  "phases.nanos": Float64Array.of(2500, 3000),
  "frames.strings": [
    "/home/me/train.py",
    "main",
    "model.fit(x)",
    "/lib/keras/trainer.py",
    "fit",
    "on_end",
    "sleep(1)",
  ],
  "frames.file": Int32Array.of(0, 3, 0),
  "frames.line": Int32Array.of(7, 300, 3),
  "frames.function": Int32Array.of(1, 4, 5),
  "frames.source": Int32Array.of(2, -1, 6),
  "calls.above": Int32Array.of(-1, 0, 1),
  "calls.frame": Int32Array.of(0, 1, 2),
  "calls.looks": Int32Array.of(0, 1, 2),
  "calls.python": Float64Array.of(0, 100, 300),
  "calls.input": Float64Array.of(0, 0, 0),
  "calls.tracing": Float64Array.of(0, 0, 0),
  "looks.cell": Int32Array.of(0, 0, 0),
  "looks.call": Int32Array.of(1, 2, 2),
  "looks.part": Int32Array.of(1, 1, 2),
  "looks.start": Float64Array.of(1000, 7000, 10000),
  "looks.nanos": Float64Array.of(1000, 3000, 2000),
};
const LAYERS: Readonly<Record<string, unknown>> = {
  "layers.names": ["conv", "dense", "no layer"],
  "layers.types": ["Conv2D", "Dense", ""],
  "layers.parent": Int32Array.of(-1, -1, -1),
  "layers.layer": Int32Array.of(0, 0, 1, 0),
  "layers.role": Int32Array.of(0, 0, 0, 1),
};

// By step 200 ns: conv runs forward twice, then dense beside it, then conv backward.
const DRAWN = ["aaaaa", "     bbbbb", "        cccc", "            dddddddd"];

function lanes(isWhole: boolean, late: Readonly<Record<string, unknown>>, chosen = [0, 1]): string[] {
  const once = executionsOf(DRAWN.flatMap((drawn) => [0, 1].map((step) => ({ drawn, step }))));
  const profile = {
    ...profileOf("a = Conv2D() 1ns\nb = Relu() 1ns\nc = MatMul() 1ns\nd = Grad() 1ns"),
    steps: [0, 1],
    stepNames: ["", ""],
    executions: { ...once, node: once.node.map((index) => index >> 1) },
    late: (name: string) => late[name],
  };
  const { tracks } = wholeLayout(profile, chosen, isWhole);
  return tracks
    .flatMap((track) => track.lanes)
    .filter(({ context }) => context)
    .flatMap(({ context, level, start, end, execution }) =>
      Array.from(execution, (row, slice) => {
        const span = `${start[slice]}-${end[slice]}`;
        return `${context?.label} ${level}: ${span} ${context?.name(row)} ${colour(context?.colour(row) ?? -1)}`;
      }),
    );
}

function colour(of: number): string {
  return of === TRANSFER ? "transfers" : (PARTS[of - PART] ?? "?");
}

test("the whole cell from its start to its end: sampled Python with libraries folded, phases, runs", () => {
  expect(lanes(true, CELL)).toEqual([
    "Python 0: 1000-2000 train.py:7 main python",
    "Python 0: 7000-10000 train.py:7 main python",
    "Python 0: 10000-12000 train.py:7 main input",
    "Python 1: 1000-2000 trainer.py:300 fit python",
    "Python 1: 7000-10000 train.py:3 on_end python",
    "Python 1: 10000-12000 train.py:3 on_end input",
    "phases 0: 4500-7000 step forward",
    "phases 0: 7000-10000 Slow.on_epoch_end python",
    "steps 0: 4500-7000 train first",
    "steps 0: 14000-19000 3 × train forward",
  ]);
});

test("of a step alone what went on while its ops ran", () => {
  expect(lanes(false, CELL, [0])).toEqual(["phases 0: 0-200 step forward", "steps 0: 0-200 train first"]);
});

test("layers: ops of one layer and pass that follow each other are one; an instant is of who began first", () => {
  expect(lanes(false, LAYERS, [0])).toEqual([
    "layers 0: 0-100 conv forward",
    "layers 0: 100-120 dense forward",
    "layers 0: 120-200 conv backward",
  ]);
});

test("steps lie where they were in the cell", () => {
  expect(lanes(true, { ...CELL, ...LAYERS }).filter((each) => each.includes("conv forward"))).toEqual([
    "layers 0: 5000-5100 conv forward",
    "layers 0: 15000-15100 conv forward",
  ]);
});

test("a profile of no cell and without layers has no lanes above its devices", () => {
  expect(lanes(true, {})).toEqual([]);
});
