// A slice, a transfer, and the use of a device, in words.

import { ownLine } from "../../analysis/frames.ts";
import { type DeviceUse, laneNumber } from "../../analysis/lanes.ts";
import { byteRate, placed, time } from "../../analysis/workers.ts";
import type { Profile, StepTotals } from "../../data/profile.ts";
import { exact, shortBytes, shortTime, visible } from "../../lib/format.ts";
import type { SlicePosition } from "./geometry.ts";
import type { TimelineState } from "./state.ts";

const NANOS_A_MICRO = 1000;

/** A slice's node by name, and what is known of it, label by label. */
export interface Details {
  readonly name: string;
  readonly facts: readonly (readonly [label: string, value: string])[];
}

/** What is known of a slice; null if there is no such slice. */
export function detailsOf(state: TimelineState, place: SlicePosition): Details | null {
  const { nodes, executions, steps, stepNames, stepTotals } = state.profile.value;
  const lane = state.lanes.value[place.lane];
  const track = state.trackOf(place.lane);
  if (!lane || !track) return null;
  const moved = state.transferAt(place);
  if (moved >= 0) return { name: state.nameAt(place), facts: transferFacts(state, moved) };
  const execution = state.executionAt(place);
  const node = executions.node[execution] as number;
  const [name, op] = [nodes.names[node] ?? "", nodes.ops[nodes.op[node] as number] ?? ""];
  const step = executions.step[execution] as number;
  const micros = (executions.durationNanos[execution] as number) / NANOS_A_MICRO;
  const [duration, exactly] = [shortTime(micros), exact("micros", micros)];
  const bytes = requestedBytes(stepTotals, node, step);
  const facts: [string, string][] = [
    ["op type", op === name ? "" : op], // tfprof gives what has no type its name for one
    ["start", shortTime((executions.startNanos[execution] as number) / NANOS_A_MICRO)],
    ["duration", duration === exactly ? duration : `${duration} (${exactly})`],
    ["device", state.deviceName(lane.device)],
    [track.hasThreads ? "thread" : "lane", laneNumber(track, lane)],
    ...kernelFacts(state, name, lane.device),
    ["memory", bytes > 0 ? `${shortBytes(bytes)} requested in this step` : ""],
    ["step", steps.length > 1 ? `${steps[step]} ${stepNames[step] ?? ""}`.trim() : ""],
    ["source", sourceOf(state.profile.value, node, step)],
  ];
  return { name, facts: facts.filter(([, value]) => value) };
}

const MOST_KERNELS = 3;

/** The kernels that ran for a node on the streams of a device, the costliest first. */
function kernelFacts(state: TimelineState, name: string, device: number): [string, string][] {
  const [stream, ...isStream] = (state.profile.value.nodes.devices[device] ?? "").split("/stream");
  const { kernels = [] } = state.store.shown.accelerators ?? {};
  return kernels
    .filter(([node, on]) => isStream.length && node === name && on.endsWith(stream ?? ""))
    .slice(0, MOST_KERNELS)
    .map(
      (
        [, , , kernel, grid, block, registers, shared, occupancy, accessed, runs, nanos, launches, delay],
        at,
      ) => [
        at ? `kernel ${at + 1}` : "kernel",
        [
          `${visible(kernel)}${runs > 1 ? ` (${runs} runs)` : ""}`,
          time(nanos),
          grid && `grid ${grid}`,
          block && `block ${block}`,
          registers && `${registers} registers`,
          shared && `${shortBytes(shared)} shared`,
          occupancy && `occupancy ${occupancy} %`,
          accessed && nanos && `${shortBytes((accessed * runs) / (nanos / 1e9))}/s`,
          launches && `began ${time(delay / launches)} after its launch`,
        ]
          .filter(Boolean)
          .join(", "),
      ],
    );
}

/** What a node asked of the allocator in a step; the rows are sorted by node and then step. */
function requestedBytes({ node, step, requestedBytes }: StepTotals, sought: number, inStep: number): number {
  let [low, high] = [0, node.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const difference = (node[middle] as number) - sought || (step[middle] as number) - inStep;
    if (difference < 0) low = middle + 1;
    else high = middle;
  }
  return node[low] === sought && step[low] === inStep ? (requestedBytes[low] as number) : 0;
}

/** The line of the user's code that a node is there for in a step. */
function sourceOf(profile: Profile, node: number, step: number): string {
  const frame = ownLine(profile, node, [step]);
  if (!frame) return "";
  const { file, line, source } = frame;
  return `${file.slice(file.lastIndexOf("/") + 1)}:${line}  ${source}`.trim();
}

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
  )?.waitNanos;
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
