// Devices, tasks and workers by the short names that people use: CPU:0, GPU:0 · stream all, ps 1 · CPU:0.

import type { Profile } from "../data/profile.ts";

const PLACED = /^\/job:([^/]+?)(?:\/replica:(\d+))?(?:\/task:(\d+))?(\/.*)?$/;
const UPPER = /^(cpu|gpu|tpu|xla_cpu|xla_gpu)$/i;
const severalTasks = new WeakMap<readonly string[], boolean>();

/** A device's name without what is taken as read: its job and task, where `devices` are all of one and that is the usual one. */
export function deviceLabel(name: string, devices: readonly string[] = []): string {
  return placeLabel(name, hasSeveralTasks(devices));
}

/** The name of a device or task; `isOfSeveral` tells whether the usual task has to be told from others. */
export function placeLabel(name: string, isOfSeveral: boolean): string {
  const [, job = "", replica = "0", task = "0", rest = job ? "" : name] = PLACED.exec(name) ?? [];
  const isUsual = /^(localhost|worker)$/.test(job) && task === "0" && !isOfSeveral;
  const parts = rest.split("/").filter((part) => part && !/^(replica|task):0$/.test(part));
  const label = [
    job && !isUsual && `${job} ${task}`,
    replica !== "0" && `replica ${replica}`,
    ...parts.map((part) => partLabel(part.replace(/^device:/, ""))),
  ];
  return label.filter(Boolean).join(" · ") || name || "no device";
}

function hasSeveralTasks(devices: readonly string[]): boolean {
  const known = severalTasks.get(devices);
  if (known !== undefined) return known;
  const tasks = devices.map((device) => {
    const [, job, replica = "0", task = "0"] = PLACED.exec(device) ?? [];
    return job && [job, replica, task].join();
  });
  const found = new Set(tasks.filter(Boolean)).size > 1;
  severalTasks.set(devices, found);
  return found;
}

function partLabel(part: string): string {
  const [kind = "", ...rest] = part.split(":");
  return UPPER.test(kind) ? [kind.toUpperCase(), ...rest].join(":") : [kind, ...rest].join(" ");
}

/** The workers, each once: what is called earlier comes first, then by name, and 2 before 10. */
export function workersAmong(workers: Iterable<string>): readonly string[] {
  const rank = (worker: string): number => (/^(before|base|baseline|old)\b/i.test(worker) ? 0 : 1);
  return [...new Set(workers)].sort(
    (one, other) => rank(one) - rank(other) || byNumber(one, other) || (one < other ? -1 : 1),
  );
}

/** Compares text with text and numbers with numbers: names are parted so that these alternate. */
function byNumber(one: string, other: string): number {
  const [parts, others] = [one.split(/(\d+)/), other.split(/(\d+)/)];
  for (const [place, part] of parts.slice(0, others.length).entries()) {
    const against = others[place] as string;
    const [left, right] = place % 2 ? [BigInt(part), BigInt(against)] : [part, against];
    if (left !== right) return left < right ? -1 : 1;
  }
  return parts.length - others.length;
}

/** Whether its steps are those of several. */
export function hasSeveralWorkers({ stepWorkers }: Profile): boolean {
  return stepWorkers.some((worker) => worker !== stepWorkers[0]);
}
