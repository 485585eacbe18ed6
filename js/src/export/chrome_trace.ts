// The timeline in the Trace Event Format, as chrome://tracing and Perfetto open it: a process a device, a thread a lane.

import { type Lane, laneLabel, type Track } from "../analysis/lanes.ts";
import { laidDeviceLabel, layoutOf, slicesOf } from "../analysis/timeline_layout.ts";
import type { Profile } from "../data/profile.ts";

const EVENTS_A_PART = 5000;
const NANOS_A_MICRO = 1000;
const ABOUT = "The steps follow one another with a gap between them; how far apart they ran is not recorded.";

/** The trace of all steps as JSON, some events at a time. */
export function* chromeTraceParts(profile: Profile): Generator<string> {
  const { tracks } = layoutOf(
    profile,
    profile.steps.map((_, step) => step),
  );
  yield `{"displayTimeUnit":"ns","otherData":${JSON.stringify({ steps: ABOUT })},"traceEvents":[\n`;
  const slices = slicesOf(profile);
  const labels = tracks.flatMap((track) => [
    label("process_name", track.device, 0, laidDeviceLabel(slices, track.device, profile.nodes.devices)),
    ...track.lanes.map((lane, thread) => label("thread_name", track.device, thread, laneLabel(track, lane))),
  ]);
  yield labels.join(",\n");
  for (const track of tracks) {
    for (const [thread, lane] of track.lanes.entries()) yield* laneParts(profile, track, lane, thread);
  }
  yield "\n]}\n";
}

function* laneParts(profile: Profile, track: Track, lane: Lane, thread: number): Generator<string> {
  const event = eventsOf(profile, track.device, thread);
  for (let first = 0; first < lane.execution.length; first += EVENTS_A_PART) {
    let part = "";
    const end = Math.min(first + EVENTS_A_PART, lane.execution.length);
    for (let slice = first; slice < end; slice++) {
      part += `,\n${event(lane.execution[slice] as number, lane.start[slice] as number)}`;
    }
    yield part;
  }
}

// Viewers take process and thread 0 for the kernel's.
const FIRST_NUMBER = 1;

/** Writes an execution or a transfer that starts at some nanosecond. */
function eventsOf(profile: Profile, device: number, thread: number) {
  const { node, step, durationNanos, firstTransfer } = slicesOf(profile);
  return (row: number, start: number): string => {
    const { name, cat, args } =
      row < firstTransfer ? executed(profile, node[row] as number) : moved(profile, row - firstTransfer);
    return JSON.stringify({
      name,
      cat,
      ph: "X",
      pid: device + FIRST_NUMBER,
      tid: thread + FIRST_NUMBER,
      ts: start / NANOS_A_MICRO,
      dur: (durationNanos[row] as number) / NANOS_A_MICRO,
      args: { ...args, step: profile.steps[step[row] as number] },
    });
  };
}

function executed({ nodes }: Profile, node: number) {
  const op = nodes.ops[nodes.op[node] as number];
  return { name: nodes.names[node], cat: op, args: { op } };
}

function moved({ transfers }: Profile, transfer: number) {
  const { devices, tensors, kinds } = transfers;
  return {
    name: tensors[transfers.tensor[transfer] as number],
    cat: kinds[transfers.kind[transfer] as number],
    args: {
      from: devices[transfers.source[transfer] as number],
      to: devices[transfers.target[transfer] as number],
      bytes: transfers.bytes[transfer],
    },
  };
}

function label(what: string, device: number, thread: number, name: string): string {
  return JSON.stringify({
    name: what,
    ph: "M",
    pid: device + FIRST_NUMBER,
    tid: thread + FIRST_NUMBER,
    args: { name },
  });
}
