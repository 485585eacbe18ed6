// The timeline in the Trace Event Format, as chrome://tracing and Perfetto open it: a process a device, a thread a lane.

import type { Profile } from "../profile.ts";
import { laneLabel } from "../views/timeline/details.ts";
import { deviceLabel } from "../views/timeline/device_label.ts";
import type { Lane, Track } from "../views/timeline/lanes.ts";
import { layoutOf } from "../views/timeline/layout.ts";

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
  const labels = tracks.flatMap((track) => [
    label("process_name", track.device, 0, deviceLabel(profile.nodes.devices[track.device] ?? "")),
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

/** Writes an execution that starts at some nanosecond. */
// Viewers take process and thread 0 for the kernel's.
const FIRST_NUMBER = 1;

function eventsOf({ nodes, executions, steps }: Profile, device: number, thread: number) {
  return (execution: number, start: number): string => {
    const node = executions.node[execution] as number;
    return JSON.stringify({
      name: nodes.names[node],
      cat: nodes.ops[nodes.op[node] as number],
      ph: "X",
      pid: device + FIRST_NUMBER,
      tid: thread + FIRST_NUMBER,
      ts: start / NANOS_A_MICRO,
      dur: (executions.durationNanos[execution] as number) / NANOS_A_MICRO,
      args: { op: nodes.ops[nodes.op[node] as number], step: steps[executions.step[execution] as number] },
    });
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
