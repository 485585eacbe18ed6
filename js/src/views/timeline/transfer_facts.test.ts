import { expect, test } from "vitest";
import { transferOf } from "../../analysis/testing.ts";
import type { MovedTensor } from "../../data/cluster.ts";
import { profileOf } from "../../engine/testing.ts";
import type { Store } from "../../state/store.ts";
import type { TimelineState } from "./state.ts";
import { transferFacts } from "./transfer_facts.ts";

const [PS, WORKER] = ["/job:ps/replica:0/task:1/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"];
const profile = {
  ...profileOf("w = Variable() 10ns"),
  transfers: transferOf({ from: PS, to: WORKER, drawn: "  tttt" }),
};

function factsWith(transfers: readonly Partial<MovedTensor>[]): readonly (readonly [string, string])[] {
  const store = { shown: { cluster: { transfers } } } as unknown as Store;
  return transferFacts({ profile: { value: profile }, store } as TimelineState, 0);
}

test("what is known of a transfer: its way, its rate, and how long it is waited for", () => {
  const told = { tensor: "w:0", source: PS, target: WORKER, wait_nanos: 1500 };
  expect(factsWith([{ ...told, target: "/job:other" }, told])).toEqual([
    ["transfer", "RecvTensor"],
    ["from", "ps 1 · CPU:0"],
    ["to", "worker 0 · CPU:0"],
    ["bytes", "64 B"],
    ["start", "20 ns"],
    ["duration", "40 ns (0.04 µs)"],
    ["rate", "1.60 GB/s"],
    ["waits", "1.50 µs a step until it was on its way"],
  ]);
});

test("what is not among the costliest has no wait told", () => {
  expect(factsWith([]).map(([label]) => label)).not.toContain("waits");
});
