// What is known of one transfer, in words.

import { byteRate, placed, time } from "../../analysis/figures.ts";
import { exact, shortBytes, shortTime } from "../../lib/format.ts";
import type { TimelineState } from "./state.ts";

const NANOS_A_MICRO = 1000;

/** What was moved from where to where, how fast, and how long that is waited for in a step. */
export function transferFacts(
  state: TimelineState,
  row: number,
): (readonly [label: string, value: string])[] {
  const { transfers, steps, stepNames } = state.profile.value;
  const nameOf = (names: readonly string[], index: Int32Array): string => names[index[row] as number] ?? "";
  const [source, target] = [
    nameOf(transfers.devices, transfers.source),
    nameOf(transfers.devices, transfers.target),
  ];
  const tensor = nameOf(transfers.tensors, transfers.tensor);
  const [bytes, nanos] = [transfers.bytes[row] as number, transfers.durationNanos[row] as number];
  const step = transfers.step[row] as number;
  const micros = nanos / NANOS_A_MICRO;
  const wait = state.store.shown.cluster?.transfers.find(
    (each) => each.tensor === tensor && each.source === source && each.target === target,
  )?.wait_nanos;
  const facts: (readonly [string, string])[] = [
    ["transfer", nameOf(transfers.kinds, transfers.kind)],
    ["from", placed(source)],
    ["to", placed(target)],
    ["bytes", shortBytes(bytes)],
    ["start", time(transfers.startNanos[row] as number)],
    ["duration", `${shortTime(micros)} (${exact("micros", micros)})`],
    ["rate", bytes > 0 && nanos > 0 ? byteRate(bytes, nanos) : ""],
    ["waits", wait === undefined ? "" : `${time(wait)} a step until it was on its way`],
    ["step", steps.length > 1 ? `${steps[step]} ${stepNames[step] ?? ""}`.trim() : ""],
  ];
  return facts.filter(([, value]) => value);
}
