// What ran in a marked range of the timeline: sums by op type, layer and thread.

import type { Profile } from "../data/profile.ts";
import { layerColumns, ROLES } from "../engine/layers.ts";
import { firstAbove, isContext, type Lane, laneNumber, type Track } from "./lanes.ts";
import { type Layout, laidDeviceLabel, type Slices } from "./timeline_layout.ts";

/** What ran for one thing: how often, and its time within the range. */
export interface RangeSum {
  readonly name: string;
  readonly nanos: number;
  readonly count: number;
}

/** The sums of a range, of each kind those with the most time first. */
interface RangeSums {
  readonly "op type": readonly RangeSum[];
  readonly layer: readonly RangeSum[];
  readonly thread: readonly RangeSum[];
}

/** The sums of what executions there are from one time to another; transfers are no executions. */
export function sumsIn(
  profile: Profile,
  slices: Slices,
  layout: Layout,
  from: number,
  to: number,
): RangeSums {
  const { names, layer, role } = layerColumns(profile);
  const { ops, op } = profile.nodes;
  const [types, layers, threads] = [new Sums<number>(), new Sums<number>(), new Sums<string>()];
  const roles = ROLES.length + 1;
  for (const track of layout.tracks.filter((each) => !isContext(each))) {
    for (const lane of track.lanes) {
      if (lane.isTransfers) continue;
      const thread = threadName(profile, slices, track, lane);
      for (
        let at = firstAbove(lane.end, from);
        at < lane.end.length && (lane.start[at] as number) < to;
        at++
      ) {
        const nanos = Math.min(lane.end[at] as number, to) - Math.max(lane.start[at] as number, from);
        const node = slices.node[lane.execution[at] as number] as number;
        types.add(op[node] as number, nanos);
        layers.add((layer[node] as number) * roles + (role[node] as number), nanos);
        threads.add(thread, nanos);
      }
    }
  }
  const ofLayer = (key: number) =>
    [names[Math.floor(key / roles)], ROLES[key % roles]].filter(Boolean).join(", ");
  return {
    "op type": types.sorted((key) => ops[key] ?? ""),
    layer: layers.sorted(ofLayer),
    thread: threads.sorted((key) => key),
  };
}

function threadName({ nodes }: Profile, slices: Slices, track: Track, lane: Lane): string {
  const device = laidDeviceLabel(slices, track.device, nodes.devices);
  return `${device}, ${track.hasThreads ? lane.name || `thread ${lane.thread}` : `lane ${laneNumber(track, lane)}`}`;
}

/** Adds up by key. */
class Sums<Key extends number | string> {
  readonly #found = new Map<Key, { nanos: number; count: number }>();

  add(key: Key, nanos: number): void {
    const sum = this.#found.get(key);
    if (sum) {
      sum.nanos += nanos;
      sum.count += 1;
    } else this.#found.set(key, { nanos, count: 1 });
  }

  sorted(nameOf: (key: Key) => string): readonly RangeSum[] {
    return [...this.#found]
      .map(([key, sum]) => ({ name: nameOf(key), ...sum }))
      .sort((one, other) => other.nanos - one.nanos);
  }
}
