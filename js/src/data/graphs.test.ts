import { expect, test } from "vitest";
import { graphsOf } from "./graphs.ts";
import type { Model } from "./model.ts";

test("names of several words are spelled as here, but the options of evidence as in Python", () => {
  const evidence = { view: "op", options: { order_by: "micros" }, selection: ["a_b"] };
  const described = {
    name: "g",
    columns: new Uint8Array(0),
    overview: {
      sentence: "A step waits.",
      leads: true,
      cell: [["python", "Python between steps", 9, 100, "In[1]:2 wait()"]],
      step: [],
      bars: [[4, 2, 30, 50, -1]],
      steps: ["median 30 ns"],
    },
    advice: [
      { checker: "C", title: "T", looks_for: "x", reports: ["a text", { cause: "c", evidence, fix: "f" }] },
    ],
    cluster: { tasks: [{ task: "/job:ps", busy_nanos: 1 }], transfers_left_out: 2, parameter_balance: null },
    cut: null,
  };
  const [graph] = graphsOf({
    get: (name: string) => (name === "_graphs" ? [described] : undefined),
  } as Model);
  expect(graph?.overview).toMatchObject({
    cell: [{ key: "python", name: "Python between steps", nanos: 9, share: 100, detail: "In[1]:2 wait()" }],
    bars: [{ first: 4, count: 2, nanos: 30, most: 50, traced: -1 }],
  });
  expect(graph?.cluster).toEqual({
    tasks: [{ task: "/job:ps", busyNanos: 1 }],
    transfersLeftOut: 2,
    parameterBalance: null,
  });
  expect(graph?.advice).toEqual([
    { checker: "C", title: "T", looksFor: "x", reports: ["a text", { cause: "c", evidence, fix: "f" }] },
  ]);
});
