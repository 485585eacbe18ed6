import type { VNode } from "preact";
import { expect, test } from "vitest";
import { StepTimes } from "./bars.tsx";

/** The attributes of the drawing of these steps, and the paths of usual steps and of those that are cut off. */
function drawn(seconds: readonly number[], room = 200) {
  const { props } = StepTimes({ seconds, room }) as VNode<Record<string, unknown>>;
  const [, usual, cut] = props.children as VNode<{ d: string }>[];
  return { label: props["aria-label"], usual: usual?.props.d, cut: cut?.props.d };
}

test("a bar is as high as its step took long, the longest as high as the strip", () => {
  const { usual, cut } = drawn([0.1, 0.2, 0.1]);
  expect(usual).toBe("M0 1h.8v-0.5h-.8zM1 1h.8v-1h-.8zM2 1h.8v-0.5h-.8z");
  expect(cut).toBe("");
});

test("a step beyond 2.2 times the median is cut off, so that the others are not flat", () => {
  const { usual, cut } = drawn([0.1, 0.1, 0.1, 5]);
  expect(usual).toBe([0, 1, 2].map((at) => `M${at} 1h.8v-0.455h-.8z`).join(""));
  expect(cut).toBe("M3 1h.8v-1h-.8z");
});

test("the last steps are drawn, and told in words", () => {
  const { usual, label } = drawn([9, 0.5, 0.25], 2);
  expect(usual?.match(/M/g)).toHaveLength(2);
  expect(label).toBe("the last 2 steps: the longest 500 ms, the last 250 ms");
});

test("before the first step has ended there is nothing to draw", () => {
  expect(drawn([])).toEqual({ label: "no step has ended yet", usual: "", cut: "" });
});

test("steps that took no time by the clock are drawn flat", () => {
  expect(drawn([0, 0]).usual).toBe("M0 1h.8v0h-.8zM1 1h.8v0h-.8z");
});
