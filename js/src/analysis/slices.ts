// All that has a place in the timeline as one table: the executions, and after them the transfers.

import { cacheOf } from "../data/memory.ts";
import type { Executions, Profile } from "../data/profile.ts";
import { visible } from "../lib/visible.ts";
import { deviceLabel } from "./devices.ts";
import { workersAmong } from "./worker_names.ts";

/** A device as one of the workers has it; there is no worker where all is one process's. */
export interface LaidDevice {
  readonly worker: string;
  readonly name: string;
}

/** A row an execution or, from `firstTransfer` on, a transfer, which is on the device that got the tensor. */
export interface Slices extends Executions {
  readonly firstTransfer: number;
  /** What `device` indexes. */
  readonly devices: readonly LaidDevice[];
  /** By step the first one of its number: what workers did in a step lies side by side. */
  readonly moment: Int32Array;
}

/** The slices of a profile, kept with it. */
export function slicesOf(profile: Profile): Slices {
  return cacheOf(profile).kept("slices", () => {
    const { executions, transfers, nodes, steps, stepWorkers } = profile;
    const names = [...new Set([...nodes.devices, ...transfers.devices])];
    const firstTransfer = executions.node.length;
    const target = transfers.devices.map((device) => names.indexOf(device));
    const joined = transfers.step.length ? joinedWith(profile, target) : executions;
    const first = new Map<number, number>();
    const moment = Int32Array.from(steps, (number, step) => {
      if (!first.has(number)) first.set(number, step);
      return first.get(number) as number;
    });
    if (!stepWorkers.length) {
      return { ...joined, firstTransfer, moment, devices: names.map((name) => ({ worker: "", name })) };
    }
    const all = [...names, ""]; // the last is that of what has none
    const workers = workersAmong(stepWorkers);
    const rank = new Map(workers.map((worker, index) => [worker, index]));
    const offset = stepWorkers.map((worker) => (rank.get(worker) as number) * all.length);
    return {
      ...joined,
      firstTransfer,
      moment,
      device: joined.device.map(
        (device, row) =>
          (offset[joined.step[row] as number] as number) + (device < 0 ? names.length : device),
      ),
      devices: workers.flatMap((worker) => all.map((name) => ({ worker, name }))),
    };
  });
}

/** A device by the name that people say, behind that of its worker. */
export function laidDeviceLabel({ devices }: Slices, device: number, names: readonly string[]): string {
  const { worker, name } = devices[device] ?? { worker: "", name: "" };
  const label = deviceLabel(name, names);
  return worker ? `${visible(worker)} · ${label}` : label;
}

function joinedWith({ executions, transfers }: Profile, target: readonly number[]): Executions {
  return {
    node: afterEachOther(executions.node, transfers.node),
    step: afterEachOther(executions.step, transfers.step),
    device: afterEachOther(
      executions.device,
      transfers.target.map((device) => target[device] as number),
    ),
    thread: afterEachOther(executions.thread, new Int32Array(transfers.step.length)),
    startNanos: afterEachOther(executions.startNanos, transfers.startNanos),
    durationNanos: afterEachOther(executions.durationNanos, transfers.durationNanos),
  };
}

function afterEachOther<Column extends Int32Array | Float64Array>(one: Column, other: Column): Column {
  const joined = new (one.constructor as new (length: number) => Column)(one.length + other.length);
  joined.set(one);
  joined.set(other, one.length);
  return joined;
}
