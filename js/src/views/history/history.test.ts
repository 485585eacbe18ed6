import { expect, test } from "vitest";
import type { CellRun } from "../../data/history.ts";
import type { Model } from "../../data/model.ts";
import { groupName, groupsOf, reachOf, scaleOf } from "./history.tsx";
import { HistoryState } from "./history_state.ts";

function run(title: string, version: number, seconds = 0.1): CellRun {
  const none = { name: "", taken: "", steps: 9, cell: null };
  return { ...none, title, version, seconds, low: seconds * 0.99, high: seconds * 1.01 };
}

const RUNS = [run("In[4]", 1), run("In[5]", 1), run("In[7]", 2)];

test("runs of the same code in a row are a group, and each run is one", () => {
  expect(groupsOf(RUNS)).toEqual([[0, 1], [0], [1], [2]]);
  expect(groupName(RUNS, [0, 1])).toBe("In[4] to In[5], 2 runs");
  expect(groupName(RUNS, [2])).toBe("In[7]");
});

test("the shortest run is at the bottom, the longest at the top, ratios apart alike", () => {
  const place = scaleOf([run("a", 1, 1), run("b", 1, 2), run("c", 1, 4)]);
  expect(place(4)).toBeLessThan(place(2));
  expect(place(2) - place(4)).toBeCloseTo(place(1) - place(2), 6);
});

test("bars reach as far as the widest interval, a quarter at least and four times at most", () => {
  const row = { name: "a", beforeName: "a", beforeMicros: 1, afterMicros: 1, matchedBy: "name" } as const;
  const at = (low: number, high: number) => [
    { ...row, status: "matched", verdict: "cannot tell", ratio: 1, low, high } as const,
  ];
  expect(reachOf(at(0.99, 1.01))).toBeCloseTo(Math.log(1.25));
  expect(reachOf(at(0.5, 1.9))).toBeCloseTo(Math.log(2));
  expect(reachOf(at(0.01, 1))).toBeCloseTo(Math.log(4));
});

/** A model with a history, and what was asked of the kernel. */
function modelWith(comparison: unknown, hasKernel = true) {
  const asked: unknown[] = [];
  const listeners: ((message?: unknown) => void)[] = [];
  const model: Model = {
    get: () => ({ runs: RUNS, before: [0, 1], after: [2], comparison }),
    set: () => undefined,
    save_changes: () => undefined,
    ...(hasKernel && { send: (message: unknown) => asked.push(message) }),
    on: (_, listener) => listeners.push(listener),
    off: () => undefined,
  };
  return { model, asked, tell: (message: unknown) => listeners.map((each) => each(message)) };
}

test("what was not compared yet is asked for when the tab is opened, and other groups when they are chosen", () => {
  const { model, asked, tell } = modelWith(null);
  const state = new HistoryState(model);
  state.listen();
  expect(asked).toEqual([{ request: "comparison", before: [0, 1], after: [2] }]);
  tell({ answer: "comparison", comparison: { before: [0, 1], after: [2], sentence: [["it", true]] } });
  expect(state.shown.value.comparison?.sentence).toEqual([["it", true]]);
  state.choose("after", [1]);
  expect(asked.at(-1)).toEqual({ request: "comparison", before: [0], after: [1] });
  tell({ answer: "comparison", comparison: { before: [0, 1], after: [2], sentence: [] } });
  expect(state.shown.value.isAsking).toBe(true);
});

test("a run that is picked is taken alone, or joins the runs of a side, or leaves them", () => {
  const { model, asked } = modelWith(null);
  const state = new HistoryState(model);
  state.pick("before", 1, true);
  expect(asked.at(-1)).toEqual({ request: "comparison", before: [0], after: [2] });
  state.pick("before", 0, true);
  expect(asked.at(-1)).toEqual({ request: "comparison", before: [0], after: [2] });
  state.pick("after", 1, true);
  expect(asked.at(-1)).toEqual({ request: "comparison", before: [0], after: [1, 2] });
  state.pick("after", 1, false);
  expect(asked.at(-1)).toEqual({ request: "comparison", before: [0], after: [1] });
});

test("a race tells how far it is, is stopped, and its answer is shown, also after other runs were chosen", () => {
  const { model, asked, tell } = modelWith({ before: [0, 1], after: [2], sentence: [] });
  const state = new HistoryState(model);
  state.startRace();
  state.startRace();
  expect(asked).toEqual([{ request: "race", before: [0, 1], after: [2] }]);
  tell({ answer: "race", share: 0.4, rounds: 3 });
  expect(state.race.value).toEqual({ share: 0.4, rounds: 3 });
  state.stopRace();
  expect(asked.at(-1)).toEqual({ request: "stop race" });
  expect(state.race.value?.isStopping).toBe(true);
  state.before.value = [1];
  tell({ answer: "raced", comparison: { before: [0, 1], after: [2], sentence: [], raced: "3 rounds" } });
  expect(state.race.value).toBeNull();
  expect(state.before.value).toEqual([0, 1]);
  expect(state.shown.value.comparison?.raced).toBe("3 rounds");
});

test("a race that fails leaves the comparison and says why", () => {
  const { model, tell } = modelWith({ before: [0, 1], after: [2], sentence: [["saved", true]] });
  const state = new HistoryState(model);
  state.startRace();
  tell({ answer: "race failed", reason: "the race ended: NameError: x" });
  expect(state.race.value).toBeNull();
  expect(state.shown.value.problem).toMatch(/NameError/);
  expect(state.shown.value.comparison?.sentence).toEqual([["saved", true]]);
});

test("without a kernel the comparison that was saved stays, and others are told to need one", () => {
  const saved = { before: [0, 1], after: [2], sentence: [["saved", true]] };
  const { model } = modelWith(saved, false);
  const state = new HistoryState(model);
  state.listen();
  state.choose("after", [1]);
  expect(state.shown.value.problem).toMatch(/takes the kernel/);
  state.before.value = [0, 1];
  state.choose("after", [2]);
  expect(state.shown.value.comparison?.sentence).toEqual([["saved", true]]);
});
