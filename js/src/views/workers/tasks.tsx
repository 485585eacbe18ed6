// The tasks of a cluster: how busy each was, what it sent and got, and for whom the others wait.

import { offset, percent, placed, time } from "../../analysis/figures.ts";
import type { Cluster, Task } from "../../data/cluster.ts";
import { shortBytes } from "../../lib/format.ts";
import { ScrollSideways } from "../../ui/tables.tsx";

interface Figure {
  readonly title: string;
  readonly help: string;
  readonly text: (task: Task) => string;
}

const FIGURES: readonly Figure[] = [
  { title: "op time", help: "the time of all its ops, added up", text: (task) => time(task.operation_nanos) },
  { title: "sent", help: "bytes that others got from it", text: (task) => shortBytes(task.sent_bytes) },
  { title: "received", help: "bytes that it got", text: (task) => shortBytes(task.received_bytes) },
  {
    title: "transfers",
    help: "the time in which anything was on its way to it",
    text: (task) => time(task.transfer_nanos),
  },
  {
    title: "waits",
    help: "how long it stood still for what was not on its way yet",
    text: (task) => time(task.wait_nanos),
  },
  {
    title: "overlap",
    help: "the part of its transfers' time in which it computed",
    text: (task) => percent(task.overlap),
  },
  {
    title: "waited for",
    help: "how long all the others waited for it",
    text: (task) => time(task.waited_for_nanos),
  },
  {
    title: "clock",
    help: "how far its clock is ahead of the first task's, as transfers tell",
    text: (task) => offset(task.offset_nanos, task.offset_error_nanos),
  },
];

/** A row a task, with a bar of the time in which it was busy. */
export function TaskTable({ cluster }: { readonly cluster: Cluster }) {
  const { tasks, straggler, steps } = cluster;
  const longest = Math.max(...tasks.map(lengthOf));
  return (
    <section aria-label="tasks">
      <header>
        <h3>Tasks</h3>
        <span class="dim">{steps === 1 ? "1 step" : `mean of ${steps.toLocaleString("en")} steps`}</span>
      </header>
      {straggler && (
        <p class="straggler">
          <span aria-hidden="true">▲</span> {straggler.text}
        </p>
      )}
      <ScrollSideways label="table of tasks">
        <table class="figures">
          <caption>What each task did in a step</caption>
          <thead>
            <tr>
              <th scope="col">task</th>
              <th scope="col" class="picture" title="the part of the step in which any op ran">
                <i class="busy" /> busy <i class="idle" /> idle
              </th>
              {FIGURES.map(({ title, help }) => (
                <th key={title} scope="col" title={help}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tasks.map((task) => (
              <tr key={task.task}>
                <th scope="row" title={task.task}>
                  {placed(task.task)}
                  {straggler?.task === task.task && (
                    <span class="straggler" title={straggler.text}>
                      {" "}
                      ▲ waited for most
                    </span>
                  )}
                </th>
                <td class="picture" title={`busy ${time(task.busy_nanos)}, idle ${time(task.idle_nanos)}`}>
                  <UseBar task={task} longest={longest} />
                </td>
                {FIGURES.map(({ title, text }) => (
                  <td key={title}>{text(task)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollSideways>
    </section>
  );
}

function UseBar({ task, longest }: { readonly task: Task; readonly longest: number }) {
  const length = lengthOf(task);
  return (
    <div class="use">
      <span class="gauge" aria-hidden="true" style={{ inlineSize: share(length, longest) }}>
        <i class="busy" style={{ inlineSize: share(task.busy_nanos, length) }} />
      </span>
      {percent(length ? task.busy_nanos / length : null)}
    </div>
  );
}

function lengthOf({ busy_nanos, idle_nanos }: Task): number {
  return busy_nanos + idle_nanos;
}

function share(part: number, whole: number): string {
  return `${whole ? (100 * part) / whole : 0}%`;
}
