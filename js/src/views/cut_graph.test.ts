import { signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Cut } from "../data/graphs.ts";
import type { Listener } from "../data/model.ts";
import { withDefaults } from "../data/options.ts";
import { profileOf } from "../engine/testing.ts";
import type { Store } from "../state/store.ts";
import { CutRequests, isNothing, mergedRow, wantedBy } from "./cut_graph.tsx";

const COLUMNS = new DataView(new ArrayBuffer(8));
const REST = { answer: "rows", graph: 0, notes: ["8 nodes"], cut: null };

let sent: unknown[];
let shown: unknown[];
let listener: Listener | undefined;
let asking: CutRequests;

beforeEach(() => {
  vi.useFakeTimers();
  [sent, shown] = [[], []];
  const model = {
    send: (message: unknown) => sent.push(message),
    on: (_: string, heard: Listener) => {
      listener = heard;
    },
    off: () => {
      listener = undefined;
    },
  };
  asking = new CutRequests({
    host: { model },
    graph: signal(0),
    replace: (...told: unknown[]) => shown.push(told),
  } as unknown as Store);
});

afterEach(() => {
  asking.dispose();
  vi.useRealTimers();
});

function hear(message: unknown, ...buffers: DataView[]): void {
  listener?.(message, buffers);
}

test("a question is asked, its progress told, and its answer shown", () => {
  const then = vi.fn();
  asking.ask({ step: 3 }, then);
  expect(sent).toEqual([{ request: "rows", graph: 0, wanted: { step: 3 } }]);
  expect(asking.asked.value).toEqual({ progress: "asking the kernel" });
  hear({ answer: "progress", text: "adding up" });
  expect(asking.asked.value).toEqual({ progress: "adding up" });
  expect(then).not.toHaveBeenCalled();
  hear(REST, COLUMNS);
  expect(shown).toEqual([[0, { columns: COLUMNS, notes: ["8 nodes"], cut: null }]]);
  expect(asking.asked.value).toEqual({});
  expect(then).toHaveBeenCalledOnce();
});

test("of what is asked while the kernel is at work, the last is asked after it", () => {
  const [early, late] = [vi.fn(), vi.fn()];
  asking.ask({ step: 1 });
  asking.ask({ step: 2 }, early);
  asking.ask({ step: 3 }, late);
  expect(sent).toHaveLength(1);
  hear(REST, COLUMNS);
  expect(sent.slice(1)).toEqual([{ request: "rows", graph: 0, wanted: { step: 3 } }]);
  expect(late).not.toHaveBeenCalled();
  hear(REST, COLUMNS);
  expect(late).toHaveBeenCalledOnce();
  expect(early).not.toHaveBeenCalled();
});

test("a refusal has its reason, and may be asked again", () => {
  asking.ask({ step: 1 });
  hear({ answer: "failed", reason: "RE2 refuses it" });
  expect(asking.asked.value).toEqual({ problem: "RE2 refuses it" });
  asking.again();
  expect(sent).toHaveLength(2);
  expect(sent[1]).toEqual(sent[0]);
});

test("a kernel that says nothing for a minute is given up, and one that works is not", () => {
  asking.ask({ step: 1 });
  vi.advanceTimersByTime(50_000);
  hear({ answer: "progress", text: "adding up" });
  vi.advanceTimersByTime(50_000);
  expect(asking.asked.value.problem).toBeUndefined();
  vi.advanceTimersByTime(10_000);
  expect(asking.asked.value.problem).toContain("ask again when it is idle");
});

test("what others are told is not for it", () => {
  hear({ answer: "pictures" }, COLUMNS);
  expect(shown).toEqual([]);
  asking.dispose();
  expect(listener).toBeUndefined();
});

const PROFILE = profileOf("a/b = MatMul() 1us\nc = Add() 1us");
const names = ["(1,234 more MatMul)", "a/b/(2 more Add)", "a/(3 more Mul, 2)", "a/(4 odd)", "b/more"];
const CUT_PROFILE = {
  ...PROFILE,
  nodes: { ...PROFILE.nodes, names, ops: ["Add", "MatMul", "Mul"], op: Int32Array.of(1, 0, 2, 0, 0) },
};
const CUT: Cut = { nodes: 9, kept: 2, rows: 3, steps: [0, 2] };

test.each([
  ["(1,234 more MatMul)", { count: "1,234", scope: "", op: "MatMul" }],
  ["a/b/(2 more Add)", { count: "2", scope: "a/b", op: "Add" }],
  ["a/(3 more Mul, 2)", { count: "3", scope: "a", op: "Mul" }],
  ["a/(4 odd)", null],
  ["b/more", null],
  ["a/(5 more Add)", null],
])("%s stands for several nodes or is one", (name, row) => {
  expect(mergedRow(CUT_PROFILE, name)).toEqual(row);
});

test("a step whose executions are here is not asked for", () => {
  expect(wantedBy(withDefaults({ step: 2 }), CUT)).toEqual({});
  expect(wantedBy(withDefaults({ step: 1 }), CUT)).toEqual({ step: 1 });
  expect(isNothing(wantedBy(withDefaults(), CUT))).toBe(true);
});

test("names are asked for where nodes are put together", () => {
  const options = withDefaults({ showNameRegexes: [".*x"], startNameRegexes: ["a"] });
  expect(wantedBy(options, CUT)).toEqual({ show_name_regexes: [".*x"], start_name_regexes: ["a"] });
  expect(wantedBy(options, { ...CUT, rows: 0 })).toEqual({});
});
