import { expect, test } from "vitest";
import { deviceRows } from "./workers_chart.ts";

const GPU = "/job:localhost/replica:0/task:0/device:gpu:";
const accelerators = {
  devices: [
    [`${GPU}0`, "80 cores"],
    [`${GPU}1`, ""],
  ] as const,
  steps: [
    [0, 0, 10, 0, 5, 5],
    [0, 1, 8, 4, 0, 8],
    [1, 0, 30, 2, 5, 3],
    [2, 0, 1000, 0, 0, 0],
  ] as const,
  allocators: [],
  kernels: [],
};

test("each device in the mean of the steps that are shown", () => {
  const rows = deviceRows(accelerators, [0, 1], []);
  expect(rows.map(({ name, facts, count, parts }) => [name, facts, count, parts])).toEqual([
    ["GPU:0", "80 cores", 2, [20, 1, 5, 4]],
    ["GPU:1", "", 1, [8, 4, 0, 8]],
  ]);
});

test("devices of several workers are apart", () => {
  const rows = deviceRows(accelerators, [0, 1], ["host a", "host b"]);
  expect(rows.map(({ name, parts }) => [name, parts])).toEqual([
    ["host a · GPU:0", [10, 0, 5, 5]],
    ["host a · GPU:1", [8, 4, 0, 8]],
    ["host b · GPU:0", [30, 2, 5, 3]],
  ]);
});

test("nothing of steps that are not shown", () => {
  expect(deviceRows(accelerators, [7], [])).toEqual([]);
});
