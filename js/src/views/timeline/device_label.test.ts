import { expect, test } from "vitest";
import { deviceLabel } from "./device_label.ts";

test.each([
  ["/job:localhost/replica:0/task:0/device:cpu:0", "CPU:0"],
  ["/job:localhost/replica:0/task:0/device:GPU:1", "GPU:1"],
  ["/device:gpu:0/stream:all", "GPU:0 · stream all"],
  ["/job:ps/replica:0/task:1/cpu:0", "job ps · task 1 · CPU:0"],
  ["/memcpy", "memcpy"],
  ["", "no device"],
])("%s is shown as %s", (name, label) => {
  expect(deviceLabel(name)).toBe(label);
});
