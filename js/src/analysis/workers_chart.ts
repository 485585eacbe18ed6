// The chart of workers: what each accelerator or task did in a step, or the op time of each of several workers.

import { SIZES, WORKER_PARTS, WORKER_TITLES } from "../data/chart_words.ts";
import type { Accelerators } from "../data/graphs.ts";
import { measures } from "../engine/measures.ts";
import { chosenSteps } from "../engine/steps.ts";
import { asRegex, shortTime, visible } from "../lib/format.ts";
import { type ChartContent, type ChartKind, type ChartSubject, namesWidth } from "./chart_content.ts";
import { deviceLabel, workersAmong } from "./devices.ts";
import { placed } from "./workers.ts";

/** A device in the mean of the steps that are shown, those of one worker together. */
interface DeviceRow {
  readonly key: string;
  readonly name: string;
  readonly facts: string;
  readonly count: number;
  readonly parts: readonly number[];
}

/** The rows of some steps, in the order of the devices; times are nanoseconds a step. */
export function deviceRows(
  { devices, steps }: Accelerators,
  shown: readonly number[],
  stepWorkers: readonly string[],
): readonly DeviceRow[] {
  const chosen = new Set(shown);
  const names = devices.map(([name]) => name);
  const found = new Map<string, DeviceRow>();
  for (const [step, device, ...parts] of steps) {
    if (!chosen.has(step)) continue;
    const [name = "", facts = ""] = devices[device] ?? [];
    const worker = stepWorkers[step] ?? "";
    const key = `${worker} ${name}`;
    const before = found.get(key);
    found.set(key, {
      key,
      name: [worker, deviceLabel(name, names)].filter(Boolean).join(" · "),
      facts,
      count: (before?.count ?? 0) + 1,
      parts: parts.map((nanos, part) => nanos + (before?.parts[part] ?? 0)),
    });
  }
  const order = workersAmong([...found.values()].map(({ name }) => name));
  return [...found.values()]
    .map((row) => ({ ...row, parts: row.parts.map((nanos) => nanos / row.count) }))
    .sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
}

type WorkerPart = (typeof WORKER_PARTS)[number];

/** A bar: its name, and the seconds of its parts. */
interface WorkerBar {
  readonly name: string;
  readonly parts: Readonly<Partial<Record<WorkerPart, number>>>;
}

function contentOf(subject: ChartSubject): ChartContent {
  const sources = { accelerators: acceleratorBars, tasks: taskBars, workers: workerBars } as const;
  for (const [title, barsOf] of Object.entries(sources)) {
    const bars = barsOf(subject);
    if (!bars.length) continue;
    const rows = bars.flatMap((bar) => rowsOfBar(bar, title !== "workers"));
    const parts = WORKER_PARTS.filter((part) => rows.some((row) => row.part === part));
    return {
      spec: "workers",
      data: { workers: rows, parts: parts.map((part) => ({ part })) },
      height: SIZES.workerHeight * bars.length,
      title: WORKER_TITLES[title as keyof typeof WORKER_TITLES],
      signals: namesWidth(
        bars.map(({ name }) => name),
        subject.width,
      ),
      of: "mean",
    };
  }
  throw new Error("all that was recorded is one process's");
}

/** A row a part of a bar; the first has the bar's label: how much of it is not idle. */
function rowsOfBar({ name, parts }: WorkerBar, isUsed: boolean) {
  const total = Object.values(parts).reduce((sum, seconds) => sum + seconds, 0);
  const whole = shortTime(total * 1e6);
  const used = (100 * (1 - (parts.idle ?? 0) / total)).toFixed(0);
  const told = isUsed && total ? `${used} % of ${whole}` : whole;
  return Object.entries(parts)
    .filter(([, seconds]) => seconds)
    .map(([part, seconds], place) => ({ name, part, seconds, total, told: place ? "" : told }));
}

function acceleratorBars({ view: { profile, options }, graph: { accelerators } }: ChartSubject): WorkerBar[] {
  if (!accelerators) return [];
  const rows = deviceRows(accelerators, chosenSteps(profile, options), profile.stepWorkers);
  return rows.map(({ key, name, parts }) => {
    const [compute = 0, collectives = 0, copies = 0, idle = 0] = parts.map((nanos) => nanos / 1e9);
    const isAlone = rows.filter((row) => row.name === name).length === 1;
    return { name: visible(isAlone ? name : key.trim()), parts: { compute, collectives, copies, idle } };
  });
}

function taskBars({ graph: { cluster } }: ChartSubject): WorkerBar[] {
  return (cluster?.tasks ?? []).map(({ task, busyNanos, idleNanos }) => ({
    name: placed(task),
    parts: { busy: busyNanos / 1e9, idle: idleNanos / 1e9 },
  }));
}

function workerBars({ view: { profile, options } }: ChartSubject): WorkerBar[] {
  const workers = workersAmong(
    chosenSteps(profile, options).flatMap((step) => profile.stepWorkers[step] ?? []),
  );
  if (workers.length < 2) return [];
  return workers.map((worker) => {
    const found = measures(profile, { ...options, workerRegexes: [asRegex(worker)] });
    const micros = found.column("micros").reduce((sum, each) => sum + each, 0) / found.unit("micros");
    return { name: visible(worker), parts: { "op time": micros / 1e6 } };
  });
}

/** The chart of workers. */
export const WORKERS: ChartKind = { name: "workers", content: contentOf };
