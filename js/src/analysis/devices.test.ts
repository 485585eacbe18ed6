import { expect, test } from "vitest";
import { deviceLabel } from "./devices.ts";

test.each([
  ["/job:localhost/replica:0/task:0/device:cpu:0", "CPU:0"],
  ["/job:localhost/replica:0/task:0/device:GPU:1", "GPU:1"],
  ["/job:worker/replica:0/task:0/device:CPU:0", "CPU:0"],
  ["/device:gpu:0/stream:all", "GPU:0 · stream all"],
  ["/job:ps/replica:0/task:1/cpu:0", "ps 1 · CPU:0"],
  ["/job:worker/task:1/device:XLA_CPU:0", "worker 1 · XLA_CPU:0"],
  ["/job:worker/replica:2/task:0/device:CPU:0", "replica 2 · CPU:0"],
  ["/job:ps", "ps 0"],
  ["/memcpy", "memcpy"],
  ["", "no device"],
])("%s is shown as %s", (name, label) => {
  expect(deviceLabel(name)).toBe(label);
});

test("the usual task is named where there are others", () => {
  const devices = ["/job:worker/replica:0/task:0/cpu:0", "/job:worker/replica:0/task:1/cpu:0"];
  expect(devices.map((device) => deviceLabel(device, devices))).toEqual([
    "worker 0 · CPU:0",
    "worker 1 · CPU:0",
  ]);
});
