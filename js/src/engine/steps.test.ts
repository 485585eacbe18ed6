// Which steps of which workers count, and how workers are put together: the figures of tests/ingest/merging/test_workers.py.

import { describe, expect, test } from "vitest";
import { OptionError, withDefaults } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import { type Measure, measures } from "./measures.ts";
import { byWorker, chosenSteps } from "./steps.ts";
import { profileOf } from "./testing.ts";

// Of the fast worker steps 0 and 1, of the slow one step 0: in the sketch they are the first, the last and the second.
const WORKERS: Profile = {
  ...profileOf(`
  a = MatMul() 10us;50us;20us 5flops 4params
  b = Relu()   1us;3us;-
  c = Add()    -;2us;-
`),
  steps: [0, 0, 1],
  stepNames: ["", "", ""],
  stepWorkers: ["fast", "slow", "fast"],
};

function costs(options: Partial<Options>, measure: Measure = "micros"): number[] {
  const found = measures(WORKERS, withDefaults(options));
  return Array.from(found.column(measure), (value) => value / found.unit(measure));
}

describe("workers", () => {
  test("the mean is over all steps of all workers", () => {
    expect(costs({})).toEqual([80 / 3, 4 / 3, 2 / 3]);
  });

  test("the sum is that of what each worker takes a step", () => {
    expect(costs({ acrossWorkers: "sum" })).toEqual([65, 3.5, 2]);
    expect(costs({ acrossWorkers: "sum" }, "runs")).toEqual([2, 1.5, 1]);
    expect(costs({ acrossWorkers: "sum" }, "float_ops")).toEqual([10, 0, 0]);
    expect(costs({ acrossWorkers: "sum" }, "params")).toEqual([4, 0, 0]);
  });

  test("the slowest worker is shown as a whole", () => {
    expect(costs({ acrossWorkers: "slowest" })).toEqual([50, 3, 2]);
    expect(costs({ acrossWorkers: "slowest", step: 1 })).toEqual([20, 0, 0]);
  });

  test("each worker can be shown by itself", () => {
    expect(costs({ workerRegexes: ["fast"] })).toEqual([15, 0.5, 0]);
    expect(costs({ workerRegexes: ["s.*"] })).toEqual([50, 3, 2]);
  });

  test("a step is that step of every worker that ran it", () => {
    expect(costs({ step: 0 })).toEqual([30, 2, 1]);
    expect(costs({ step: 0, acrossWorkers: "sum" })).toEqual([60, 4, 2]);
    expect(costs({ step: 1 })).toEqual([20, 0, 0]);
  });

  test("native's clock cuts what is left of each worker's mean", () => {
    const odd: Profile = {
      ...profileOf("a = Op() 1us;2us;4us"),
      stepNames: ["", "", ""],
      stepWorkers: ["one", "one", "two"],
    };
    const found = measures(odd, withDefaults({ acrossWorkers: "sum", timing: "tfprof" }));
    expect([...found.column("micros")]).toEqual([5]);
  });

  test("steps are grouped in the order of the workers' names", () => {
    expect(byWorker(WORKERS, [0, 1, 2])).toEqual([[0, 2], [1]]);
  });

  test.each<[Partial<Options>, string]>([
    [{ workerRegexes: ["medium"] }, 'no worker matches; the workers are "fast", "slow"'],
    [{ workerRegexes: ["slow"], step: 1 }, "1 was run by no worker that worker_regexes match"],
    [{ step: 2 }, "2 is not in the profile; its steps are 0, 1"],
  ])("what was not run is said: %j", (options, reason) => {
    const choose = () => chosenSteps(WORKERS, withDefaults(options));
    expect(choose).toThrow(OptionError);
    expect(choose).toThrow(reason);
  });
});
