import { signal } from "@preact/signals";
import { beforeEach, describe, expect, test } from "vitest";
import { pathText } from "../../analysis/critical_path.ts";
import { RECEDING } from "../../analysis/spans.ts";
import { executionsOf } from "../../analysis/testing.ts";
import { OPTIONS } from "../../data/protocol.ts";
import { NO_TRANSFERS } from "../../engine/testing.ts";
import type { Store } from "../../state/store.ts";
import { onTimelineKey } from "./actions.ts";
import { TimelineState } from "./state.ts";

// step 0, lane 0: aaaaaaaaaa..........cccccccccc    step 1: the same again
// step 0, lane 1: .....bbbbb....................
const DRAWN = ["aaaaaaaaaa", "     bbbbb", `${" ".repeat(20)}cccccccccc`];
const NAMES = ["a", "b", "c"];
// 4 % of 300 ns are the space between the steps.
const END = 612;

let state: TimelineState;
let store: Store;

beforeEach(() => {
  const once = executionsOf(DRAWN.flatMap((drawn) => [0, 1].map((step) => ({ drawn, step }))));
  const profile = {
    steps: [0, 1],
    stepNames: ["", ""],
    stepWorkers: [],
    transfers: NO_TRANSFERS,
    nodes: { names: NAMES, ops: ["Op"], op: new Int32Array(3), devices: ["/device:cpu:0"] },
    executions: { ...once, node: once.node.map((index) => index >> 1) },
    traces: { stack: new Int32Array(3).fill(-1) },
    // a and c are on the critical path, b could end 2 µs later; of step 1 nothing is known
    late: (name: string) =>
      name === "critical.execution_slack" ? Int32Array.of(-2, -1, 2, -1, -2, -1) : undefined,
  };
  const options = Object.fromEntries(OPTIONS.map(({ key, default: usual }) => [key, usual]));
  store = {
    shown: { profile },
    options: signal(options),
    selection: signal([]),
    search: signal(""),
    kept: (_: string, make: () => unknown) => make(),
  } as unknown as Store;
  state = new TimelineState(store);
});

function press(keys: string, modifiers: Partial<KeyboardEvent> = {}): boolean[] {
  return keys.split(" ").map((key) => onTimelineKey(state, { key, ...modifiers } as KeyboardEvent));
}

function chosen(): string | null {
  return state.current.value && state.nameAt(state.current.value);
}

describe("keys", () => {
  test("arrows go from slice to slice, in a lane and from lane to lane", () => {
    press("ArrowRight");
    expect(chosen()).toBe("a");
    press("ArrowRight");
    expect(chosen()).toBe("c");
    press("ArrowLeft ArrowDown");
    expect(chosen()).toBe("b");
    press("ArrowUp");
    expect(chosen()).toBe("a");
  });

  test("with shift they mark what they pass", () => {
    press("ArrowRight");
    press("ArrowRight", { shiftKey: true });
    expect(state.range.value).toEqual({ from: 0, to: 300 });
  });

  test("Enter selects the node of the slice, with shift besides the others, and takes it out again", () => {
    press("ArrowRight Enter ArrowRight");
    press("Enter", { shiftKey: true });
    expect(store.selection.value).toEqual(["a", "c"]);
    press("Enter", { shiftKey: true });
    expect(store.selection.value).toEqual(["a"]);
  });

  test("Escape takes back the range, then the slice, then the selection", () => {
    press("ArrowRight Enter");
    press("ArrowRight", { shiftKey: true });
    press("Escape");
    expect([state.range.value, chosen()]).toEqual([null, "c"]);
    press("Escape");
    expect([chosen(), store.selection.value]).toEqual([null, ["a"]]);
    press("Escape");
    expect(store.selection.value).toEqual([]);
  });

  test("n goes through what is found, in the order of time, and round", () => {
    store.search.value = "B";
    press("n");
    expect([chosen(), state.spanOf(state.current.value ?? { lane: 0, slice: 0 }).from]).toEqual(["b", 50]);
    press("n");
    expect(state.spanOf(state.current.value ?? { lane: 0, slice: 0 }).from).toBe(50 + 312);
    press("N");
    expect(state.spanOf(state.current.value ?? { lane: 0, slice: 0 }).from).toBe(50);
    expect(state.highlightedSlices.value).toBe(2);
  });

  test("p goes along the critical path, and stays at its ends", () => {
    const seen = [false, false, false, true, true].map((shiftKey) => {
      press("p", { shiftKey });
      return chosen();
    });
    expect(seen).toEqual(["a", "c", "c", "a", "a"]);
    press("ArrowDown");
    press("p", { shiftKey: true });
    expect(chosen()).toBe("a"); // the one before b
  });

  test("c shows the critical path, and lets recede what is not on it unless something is highlighted", () => {
    const colours = () =>
      state.painted.value.flatMap(({ colour }) => Array.from(colour, (each) => each >= RECEDING));
    expect(colours()).not.toContain(true);
    press("c");
    expect([state.showsPath.value, colours().filter(Boolean)]).toEqual([true, [true]]);
    expect(state.path.value.map((each) => state.nameAt(each))).toEqual(["a", "c"]);
    store.search.value = "B";
    expect(colours().filter(Boolean)).toHaveLength(4);
    press("c");
    expect(state.showsPath.value).toBe(false);
  });

  test("brackets go from step to step, Home shows all", () => {
    press("]");
    expect(state.visibleTime.value).toEqual({ from: 0, to: 312 }); // 300 and 2 % of air at both sides, moved into the whole
    press("]");
    expect(state.visibleTime.value).toEqual({ from: END - 312, to: END });
    press("[ Home");
    expect(state.visibleTime.value).toEqual({ from: 0, to: END });
  });

  test("g marks the longest time in which nothing ran, m shows what is marked and f all", () => {
    press("g");
    expect(state.range.value).toEqual({ from: 100, to: 200 });
    expect(state.visibleTime.value).toEqual({ from: 0, to: 312 }); // the gap, as much on either side, and 2 % of air
    press("f");
    expect(state.visibleTime.value).toEqual({ from: 0, to: END });
    press("m");
    expect(state.visibleTime.value.to - state.visibleTime.value.from).toBe(200); // the least there is
  });

  test("m shows the chosen slice where nothing is marked", () => {
    press("m");
    expect(state.visibleTime.value).toEqual({ from: 0, to: END });
    press("ArrowRight ArrowRight f m");
    expect(chosen()).toBe("c");
    expect(state.visibleTime.value).toEqual({ from: 198, to: 398 }); // 2 % of air before it, and the least there is
  });

  test("w and s zoom, a and d pan", () => {
    press("w");
    expect(state.visibleTime.value.to - state.visibleTime.value.from).toBeCloseTo(0.7 * END);
    const before = state.visibleTime.value.from;
    press("d");
    expect(state.visibleTime.value.from).toBeGreaterThan(before);
    press("a a s s");
    expect(state.visibleTime.value).toEqual({ from: 0, to: END });
  });

  test("other keys, and those with ctrl, are left to the page", () => {
    expect(press("Tab / x")).toEqual([false, false, false]);
    expect(press("a", { ctrlKey: true })).toEqual([false]);
    expect(press("w")).toEqual([true]);
  });
});

test("how a slice stands to the critical path is told", () => {
  const slack = Int32Array.of(-2, -1, 0, 1500);
  const texts = Array.from(slack, (_, row) => pathText(slack, row));
  expect(texts).toEqual([
    "on it",
    "",
    "not on it: could end less than 1 µs later",
    "not on it: could end 1.50 ms later",
  ]);
  expect(pathText(null, 0)).toBe("");
});

describe("the state", () => {
  test("with one step chosen only that one is laid out; the next look forgets what belonged to the others", () => {
    press("] ArrowRight");
    store.options.value = { ...store.options.value, step: 1 };
    state.settle();
    expect(state.layout.value.steps).toEqual([{ step: 1, from: 0, to: 300 }]);
    expect([chosen(), state.visibleTime.value]).toEqual([null, { from: 0, to: 300 }]);
  });

  test("settling in the same layout changes nothing", () => {
    press("]");
    const { visibleTime } = state;
    const before = visibleTime.value;
    state.settle();
    expect(visibleTime.value).toBe(before);
  });

  test("an option that chooses no step does not lay out anew", () => {
    const before = state.layout.value;
    store.options.value = { ...store.options.value, minMicros: 7 };
    expect(state.layout.value).toBe(before);
  });
});
