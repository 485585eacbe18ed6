// What is known of one slice, in words.

import { ownFrame, stackOf } from "../../analysis/frames.ts";
import type { Lane, Track } from "../../analysis/lanes.ts";
import type { Profile, StepTotals } from "../../data/profile.ts";
import { exact, shortBytes, shortTime } from "../../lib/format.ts";
import type { SlicePosition } from "./geometry.ts";
import type { TimelineState } from "./state.ts";
import { transferFacts } from "./transfer_facts.ts";

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
    ["memory", bytes > 0 ? `${shortBytes(bytes)} requested in this step` : ""],
    ["step", steps.length > 1 ? `${steps[step]} ${stepNames[step] ?? ""}`.trim() : ""],
    ["source", sourceOf(state.profile.value, node)],
  ];
  return { name, facts: facts.filter(([, value]) => value) };
}

/** The same in one sentence, to be heard. */
export function spokenSlice({ name, facts }: Details): string {
  return [name, ...facts.map(([label, value]) => `${label} ${value}`)].join(", ");
}

/** A lane's name among those of its device. */
export function laneLabel(track: Track, lane: Lane): string {
  if (lane.isTransfers) return lane.level ? `transfers, level ${lane.level}` : "transfers";
  return `${track.hasThreads ? "thread" : "lane"} ${laneNumber(track, lane)}`;
}

function laneNumber({ hasThreads }: Track, { thread, level }: Lane): string {
  if (!hasThreads) return String(level);
  return level ? `${thread}, level ${level}` : String(thread);
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

/** The line of the user's code that made a node. */
function sourceOf(profile: Profile, node: number): string {
  const frame = ownFrame(stackOf(profile, node));
  if (!frame) return "";
  const { file, line, source } = frame;
  return `${file.slice(file.lastIndexOf("/") + 1)}:${line}  ${source}`.trim();
}
