// What a device did, as text.

import type { DeviceUse } from "../../analysis/busy.ts";
import { shortTime } from "../../lib/format.ts";

const NANOS_A_MICRO = 1000;

/** A device's use in all of the time: how busy it was, and its longest wait. */
export function useText(use: DeviceUse): string {
  const { busy, work, longestGap: gap } = use;
  return [
    busyText(use),
    gap ? `longest gap ${shortTime((gap.to - gap.from) / NANOS_A_MICRO)}` : "no gap",
    busy > 0 && `${(work / busy).toFixed(2)} ops at once`,
    operationsText(use),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** A device's use in a range of time. */
export function rangeText(use: DeviceUse): string {
  const [work, idle] = [use.work, use.idle].map((nanos) => shortTime(nanos / NANOS_A_MICRO));
  return `${operationsText(use)}, ${busyText(use)}, ${work} of work, ${idle} idle`;
}

function busyText({ busy, idle }: DeviceUse): string {
  return `${busy + idle > 0 ? Math.round((100 * busy) / (busy + idle)) : 0} % busy`;
}

function operationsText({ operations }: DeviceUse): string {
  return `${operations.toLocaleString("en")} ${operations === 1 ? "op" : "ops"}`;
}
