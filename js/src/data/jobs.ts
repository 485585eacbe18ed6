// The tasks of jobs, as Python tells them.

import { type LiveState, liveStateOf } from "./live.ts";

/** How a task stands; a silent one has told nothing for three times its interval. */
type TaskStatus = "running" | "ended" | "failed" | "interrupted" | "silent";

/** `row_to_browser` of tfprof_widget/widget/jobs.py. */
export interface JobTask extends LiveState {
  /** Job and task, by which Python knows it. */
  readonly name: string;
  readonly job: string;
  readonly task: string;
  readonly status: TaskStatus;
  readonly exitCode: number | null;
  /** How it ended, or since when nothing was heard of it. */
  readonly lastWords: string;
  /** Whether it has written a profile that can be looked at. */
  readonly hasProfile: boolean;
}

/** A job with its tasks. */
export interface Job {
  readonly name: string;
  readonly tasks: readonly JobTask[];
}

/** The jobs of a trait, in its order. */
export function jobsOf(told: unknown): readonly Job[] {
  const jobs = new Map<string, JobTask[]>();
  for (const row of (told as readonly unknown[] | undefined) ?? []) {
    const task = liveStateOf(row) as JobTask | null;
    if (!task) continue;
    const tasks = jobs.get(task.job) ?? [];
    tasks.push(task);
    jobs.set(task.job, tasks);
  }
  return Array.from(jobs, ([name, tasks]) => ({ name, tasks }));
}

/** How many tasks stand how, in words: "3 running, 1 failed". */
export function countedByStatus(tasks: readonly JobTask[]): string {
  const counts = new Map<TaskStatus, number>();
  for (const { status } of tasks) counts.set(status, (counts.get(status) ?? 0) + 1);
  return Array.from(counts, ([status, count]) => `${count} ${status}`).join(", ");
}

/** The share of a part of the time so far in percent; 0 where it has none. */
export function shareOf({ parts }: LiveState, key: string): number {
  return parts.find((part) => part.key === key)?.share ?? 0;
}
