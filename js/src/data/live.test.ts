import { expect, test } from "vitest";
import { countedByStatus, jobsOf, shareOf } from "./jobs.ts";
import { type LiveState, liveStateOf, notableDrift } from "./live.ts";

/** What `live_to_browser` of tfprof_widget/widget/live.py gives. */
const TOLD = {
  what: "train.py",
  phase: "running",
  told: "running",
  seconds: 100,
  runs: 312,
  traced: 14,
  kind: "train",
  steps: 312,
  first_seconds: 0.1,
  step_seconds: 0.125,
  strip: [0.1, 0.25],
  under_way: 0.05,
  parts: [
    ["steps", "312 steps", 75_000_000_000, 75, ""],
    ["input", "waiting for input", 25_000_000_000, 25, ""],
  ],
  costliest: [["MatMul", 0.05]],
  notes: [],
};

const task = (name: string, status: string) => {
  const [job, own] = name.split("/");
  return { ...TOLD, name, job, task: own, status, exit_code: null, last_words: "", has_profile: true };
};

test("a state is read with its parts by name", () => {
  const state = liveStateOf(TOLD) as LiveState;
  expect(state.firstSeconds).toBe(0.1);
  expect(state.underWay).toBe(0.05);
  expect(state.parts[1]).toEqual({
    key: "input",
    name: "waiting for input",
    nanos: 25_000_000_000,
    share: 25,
    detail: "",
  });
  expect(shareOf(state, "input")).toBe(25);
  expect(shareOf(state, "python")).toBe(0);
});

test.each([undefined, null, {}])("before Python has told anything there is no state: %s", (told) => {
  expect(liveStateOf(told)).toBeNull();
});

test.each([
  [0.1, 0.125, "+25 %"],
  [0.1, 0.05, "−50 %"],
  [0.1, 0.109, ""],
  [0, 0.1, ""],
  [0.1, 0, ""],
])("a step of %f s at first and %f s lately", (firstSeconds, stepSeconds, told) => {
  const state = liveStateOf({ ...TOLD, first_seconds: firstSeconds, step_seconds: stepSeconds });
  expect(notableDrift(state as LiveState)).toBe(told);
});

test("tasks are put together by job, in the order in which they come", () => {
  const jobs = jobsOf([task("b/0", "running"), task("a/0", "failed"), task("b/1", "silent")]);
  expect(jobs.map(({ name, tasks }) => [name, tasks.map((each) => each.task)])).toEqual([
    ["b", ["0", "1"]],
    ["a", ["0"]],
  ]);
  expect(jobs[0]?.tasks[0]?.hasProfile).toBe(true);
  expect(countedByStatus(jobs.flatMap(({ tasks }) => tasks))).toBe("1 running, 1 silent, 1 failed");
});

test("no tasks are no jobs", () => {
  expect(jobsOf(undefined)).toEqual([]);
  expect(countedByStatus([])).toBe("");
});
