import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { afterPaint } from "./lazy.tsx";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("requestAnimationFrame", (work: () => void) => setTimeout(work, 16));
  vi.stubGlobal("cancelAnimationFrame", clearTimeout);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("what is asked for several times before a paint is done once after it", () => {
  const work = vi.fn();
  const { ask } = afterPaint(work);
  ask();
  ask();
  expect(work).not.toHaveBeenCalled();
  vi.runAllTimers();
  expect(work).toHaveBeenCalledTimes(1);
  ask();
  vi.runAllTimers();
  expect(work).toHaveBeenCalledTimes(2);
});

test("what is called off is not done, before the paint or after", () => {
  const work = vi.fn();
  const { ask, cancel } = afterPaint(work);
  ask();
  cancel();
  ask();
  vi.advanceTimersByTime(16);
  cancel();
  vi.runAllTimers();
  expect(work).not.toHaveBeenCalled();
});
