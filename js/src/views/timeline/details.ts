// A slice, a transfer, and the use of a device, in words.

import { pathText } from "../../analysis/critical_path.ts";
import { ownLine } from "../../analysis/frames.ts";
import { type DeviceUse, firstAbove, laneNumber } from "../../analysis/lanes.ts";
import { shapesOf } from "../../analysis/selected.ts";
import { byteRate, placed, time } from "../../analysis/workers.ts";
import type { Profile, StepTotals } from "../../data/profile.ts";
import { layerColumns, ROLES } from "../../engine/layers.ts";
import { exact, shortBytes, shortTime, shortUnits, visible } from "../../lib/format.ts";
import type { SlicePosition } from "./geometry.ts";
import type { TimelineState } from "./state.ts";

const NANOS_A_MICRO = 1000;

/** A slice's node by name, and what is known of it, label by label. */
export interface Details {
  readonly name: string;
  readonly facts: readonly (readonly [label: string, value: string])[];
}

/** Where a fact leads: a name to select, and the tab that has it. */
export interface FactLink {
  readonly name: string;
  readonly tab: "scope" | "op" | "layers" | "code";
}

/** Where the name of a slice and the facts of it lead, by their labels; "" is that of the name. */
export function linksOf(state: TimelineState, place: SlicePosition): ReadonlyMap<string, FactLink> {
  const { context, execution: rows } = state.lanes.value[place.lane] ?? {};
  const links = new Map<string, FactLink>();
  if (context) {
    const link = context.link?.(rows?.[place.slice] ?? 0);
    if (link) links.set("", link);
    return links;
  }
  const profile = state.profile.value;
  const row = state.executionAt(place);
  const node = state.slices.value.node[row] ?? -1;
  const name = profile.nodes.names[node];
  if (name === undefined) return links;
  links.set("", { name, tab: "scope" });
  links.set("op type", { name: profile.nodes.ops[profile.nodes.op[node] as number] ?? "", tab: "op" });
  const layer = layerOf(profile, node);
  if (layer) links.set("layer", { name: layer, tab: "layers" });
  const line = ownLine(profile, node, [state.slices.value.step[row] as number]);
  if (line) links.set("source", { name: line.name, tab: "code" });
  return links;
}

/** The layer of a node, empty if it is in none. */
function layerOf(profile: Profile, node: number): string {
  const { names, types, layer } = layerColumns(profile);
  const of = layer[node] ?? 0;
  return types[of] ? (names[of] ?? "") : "";
}

/** What is known of a slice; null if there is no such slice. */
export function detailsOf(state: TimelineState, place: SlicePosition): Details | null {
  const { nodes, executions, steps, stepNames, stepTotals } = state.profile.value;
  const lane = state.lanes.value[place.lane];
  const track = state.trackOf(place.lane);
  if (!lane || !track) return null;
  const { context } = lane;
  if (context) {
    const row = lane.execution[place.slice] ?? 0;
    return { name: context.name(row), facts: context.facts(row).filter(([, value]) => value) };
  }
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
    [
      "layer",
      [layerOf(state.profile.value, node), roleOf(state.profile.value, node)].filter(Boolean).join(", "),
    ],
    ["start", shortTime((executions.startNanos[execution] as number) / NANOS_A_MICRO)],
    ["duration", duration === exactly ? duration : `${duration} (${exactly})`],
    ["self time", selfTime(state, place, track.hasThreads)],
    ["device", state.deviceName(lane.device)],
    [track.hasThreads ? "thread" : "lane", laneNumber(track, lane)],
    ...kernelFacts(state, name, lane.device),
    ["shapes", shapesOf(state.profile.value, node, state.store.options.value.timing)],
    ["FLOPs", floatOpsOf(state.profile.value, node, step, micros)],
    ["memory", bytes > 0 ? `${shortBytes(bytes)} requested in this step` : ""],
    ["step", steps.length > 1 ? `${steps[step]} ${stepNames[step] ?? ""}`.trim() : ""],
    ["critical path", pathText(state.slack.value, execution)],
    ["source", sourceOf(state.profile.value, node, step)],
  ];
  return { name, facts: facts.filter(([, value]) => value) };
}

/** The part of a step that a node is of; empty where parts are not told apart. */
function roleOf(profile: Profile, node: number): string {
  const { names, role } = layerColumns(profile);
  return names.length > 1 ? (ROLES[role[node] ?? -1] ?? "") : "";
}

/** The time of a slice without that of the slices of its thread that ran within it; empty where there are none. */
function selfTime(state: TimelineState, { lane, slice }: SlicePosition, hasThreads: boolean): string {
  const [own, below] = [state.lanes.value[lane], state.lanes.value[lane + 1]];
  if (!hasThreads || !own || below?.thread !== own.thread || below.device !== own.device) return "";
  const [from, to] = [own.start[slice] as number, own.end[slice] as number];
  let within = 0;
  for (let at = firstAbove(below.end, from); at < below.end.length && (below.start[at] as number) < to; at++)
    within += Math.min(below.end[at] as number, to) - Math.max(below.start[at] as number, from);
  return within > 0 ? shortTime((to - from - within) / NANOS_A_MICRO) : "";
}

/** What a node computes each time, and how fast it was this time. */
function floatOpsOf({ nodes, stepTotals }: Profile, node: number, step: number, micros: number): string {
  const row = rowOfStep(stepTotals, node, step);
  const ofStep = stepTotals.floatOps?.[row];
  const runs = Math.max(stepTotals.runCount[row] ?? 1, 1);
  const floatOps = ofStep === undefined ? (nodes.floatOps[node] ?? 0) : ofStep / runs;
  if (floatOps <= 0) return "";
  const rate = micros > 0 ? ` · ${shortUnits((1e6 * floatOps) / micros, "FLOP/s")}` : "";
  return `${shortUnits(floatOps, "FLOP")}${rate}`;
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

/** What a node asked of the allocator in a step. */
function requestedBytes(totals: StepTotals, node: number, step: number): number {
  return totals.requestedBytes[rowOfStep(totals, node, step)] ?? 0;
}

/** The row of a node in a step, -1 if there is none; the rows are sorted by node and then step. */
function rowOfStep({ node, step }: StepTotals, sought: number, inStep: number): number {
  let [low, high] = [0, node.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const difference = (node[middle] as number) - sought || (step[middle] as number) - inStep;
    if (difference < 0) low = middle + 1;
    else high = middle;
  }
  return node[low] === sought && step[low] === inStep ? low : -1;
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
