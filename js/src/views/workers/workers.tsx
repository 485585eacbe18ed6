// The panel of several tasks and accelerators: what each did, and how parameters are spread over the tasks.

import { hasSeveralWorkers } from "../../analysis/devices.ts";
import { offset, percent, placed, time, times } from "../../analysis/workers.ts";
import { deviceRows } from "../../analysis/workers_chart.ts";
import type { Accelerators, Cluster, Task } from "../../data/graphs.ts";
import { share, shortBytes, shortCount, visible } from "../../lib/format.ts";
import { stepsOf, stepsShown } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
import { ScrollSideways } from "../../ui/tables.tsx";
import { CompareWorkers } from "./compare.tsx";
import { LinkTable, TransferTable } from "./transfers.tsx";

/** What there is to see of several workers, accelerators, tasks and transfers; for one process alone why there is nothing. */
export function WorkersPanel({ store }: { readonly store: Store }) {
  const { accelerators, cluster, profile } = store.shown;
  const isCompared = hasSeveralWorkers(profile);
  return (
    <div class="workers">
      {accelerators && <DeviceTable store={store} accelerators={accelerators} />}
      {isCompared && <CompareWorkers store={store} />}
      {cluster && (
        <>
          <TaskTable cluster={cluster} />
          <ParameterTable cluster={cluster} />
          <LinkTable cluster={cluster} />
          <TransferTable store={store} cluster={cluster} />
          {cluster.notes.map((note) => (
            <p key={note} class="dim">
              {note}
            </p>
          ))}
        </>
      )}
      {!isCompared && !cluster && !accelerators?.devices.length && (
        <p>
          All that was recorded is one process's, and nothing went between devices.
          tfprof_widget.merge(profiles) puts several workers into one profile, and a run against a cluster has
          all its tasks.
        </p>
      )}
    </div>
  );
}

interface Figure {
  readonly title: string;
  readonly help: string;
  readonly text: (task: Task) => string;
}

const FIGURES: readonly Figure[] = [
  { title: "op time", help: "the time of all its ops, added up", text: (task) => time(task.operationNanos) },
  { title: "sent", help: "bytes that others got from it", text: (task) => shortBytes(task.sentBytes) },
  { title: "received", help: "bytes that it got", text: (task) => shortBytes(task.receivedBytes) },
  {
    title: "transfers",
    help: "the time in which tensors were on their way to it",
    text: (task) => time(task.transferNanos),
  },
  {
    title: "waits",
    help: "how long it waited for tensors that were not sent yet",
    text: (task) => time(task.waitNanos),
  },
  {
    title: "overlap",
    help: "the share of its transfer time in which it computed",
    text: (task) => percent(task.overlap),
  },
  {
    title: "waited for",
    help: "how long all the others waited for it",
    text: (task) => time(task.waitedForNanos),
  },
  {
    title: "clock",
    help: "how far its clock is ahead of the first task's, estimated from transfers",
    text: (task) => offset(task.offsetNanos, task.offsetErrorNanos),
  },
];

/** A row a task, with a bar of the time in which it was busy. */
function TaskTable({ cluster }: { readonly cluster: Cluster }) {
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
                <td class="picture" title={`busy ${time(task.busyNanos)}, idle ${time(task.idleNanos)}`}>
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
      <span class="gauge" aria-hidden="true" style={{ inlineSize: partWidth(length, longest) }}>
        <i class="busy" style={{ inlineSize: partWidth(task.busyNanos, length) }} />
      </span>
      {percent(length ? task.busyNanos / length : null)}
    </div>
  );
}

function lengthOf({ busyNanos, idleNanos }: Task): number {
  return busyNanos + idleNanos;
}

function partWidth(part: number, whole: number): string {
  return `${whole ? (100 * part) / whole : 0}%`;
}

/** A bar a task, and the line of the mean of its job; nothing where no task holds parameters. */
function ParameterTable({ cluster: { tasks, parameterBalance: balance } }: { readonly cluster: Cluster }) {
  const largest = tasks.reduce((one, other) => (other.parameters > one.parameters ? other : one));
  if (!largest.parameters) return null;
  const servers = tasks.filter(
    ({ task, parameters }) => parameters > 0 || jobOf(task) === jobOf(largest.task),
  );
  const sum = servers.reduce((all, { parameters }) => all + parameters, 0);
  const mean = balance?.mean ?? largest.parameters;
  const place = (value: number): string => `${(100 * value) / largest.parameters}%`;
  return (
    <section aria-label="parameters">
      <header>
        <h3>Parameters</h3>
        <span class="dim">{saidOf(largest, sum, mean)}</span>
      </header>
      <ScrollSideways label="table of parameters">
        <table class="figures balance" style={{ "--mean": place(mean) }}>
          <caption>Parameters by task</caption>
          <thead>
            <tr>
              <th scope="col">task</th>
              <th scope="col" class="picture">
                <span class="mean">{balance && `mean ${shortCount(Math.round(mean))}`}</span>
              </th>
              <th scope="col">parameters</th>
              <th scope="col">of the mean</th>
              <th scope="col">variables</th>
            </tr>
          </thead>
          <tbody>
            {servers.map(({ task, parameters, variables }) => (
              <tr key={task}>
                <th scope="row" title={task}>
                  {placed(task)}
                </th>
                <td class="picture" aria-hidden="true">
                  <span class="gauge">
                    <i class="busy" style={{ inlineSize: place(parameters) }} />
                  </span>
                </td>
                <td title={`${parameters.toLocaleString("en")} parameters`}>{shortCount(parameters)}</td>
                <td>{times(parameters, mean)}</td>
                <td>{variables.toLocaleString("en")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollSideways>
    </section>
  );
}

function saidOf(largest: Task, sum: number, mean: number): string {
  const [most, all] = [shortCount(largest.parameters), shortCount(sum)];
  if (sum === largest.parameters) return `${placed(largest.task)} holds all ${all}`;
  return `${placed(largest.task)} holds ${most} of ${all}, ${times(largest.parameters, mean)} the mean`;
}

function jobOf(task: string): string {
  return task.replace(/\/task:.*/, "");
}

const PARTS = ["compute", "collectives", "copies", "idle"] as const;
const HELP = [
  "a kernel runs that computes",
  "accelerators exchange data, and nothing computes",
  "data are copied to or from it, and nothing else runs",
  "nothing runs on it",
];

/** A row a device; nothing where none ran in the steps that are shown. */
function DeviceTable({
  store,
  accelerators,
}: {
  readonly store: Store;
  readonly accelerators: Accelerators;
}) {
  const steps = stepsOf(stepsShown(store).value);
  const rows = deviceRows(accelerators, steps, store.shown.profile.stepWorkers);
  if (!rows.length) return null;
  const longest = Math.max(...rows.map(({ parts }) => sum(parts)));
  const count = Math.max(...rows.map((row) => row.count));
  return (
    <section aria-label="accelerators">
      <header>
        <h3>Accelerators</h3>
        <span class="dim">{count === 1 ? "1 step" : `mean of ${count.toLocaleString("en")} steps`}</span>
      </header>
      <ScrollSideways label="table of accelerators">
        <table class="figures devices">
          <caption>What each accelerator did in a step</caption>
          <thead>
            <tr>
              <th scope="col">accelerator</th>
              <th scope="col" class="picture">
                what it did
              </th>
              <th scope="col">step</th>
              {PARTS.map((part, at) => (
                <th key={part} scope="col" title={HELP[at]}>
                  <i class={part} /> {part}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, name, facts, parts }) => (
              <tr key={key}>
                <th scope="row" title={visible(facts)}>
                  {visible(name)}
                </th>
                <td class="picture" aria-hidden="true">
                  <span class="gauge" style={{ inlineSize: partWidth(sum(parts), longest) }}>
                    {PARTS.map((part, at) => (
                      <i
                        key={part}
                        class={part}
                        style={{ inlineSize: partWidth(parts[at] as number, sum(parts)) }}
                      />
                    ))}
                  </span>
                </td>
                <td>{time(sum(parts))}</td>
                {parts.map((nanos, at) => (
                  <td key={PARTS[at]} title={time(nanos)}>
                    {nanos ? `${time(nanos)} · ${share(nanos, sum(parts))}` : "–"}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollSideways>
      {[...new Set(rows.map(({ facts }) => facts).filter(Boolean))].map((facts) => (
        <p key={facts} class="dim">
          {visible(facts)}
        </p>
      ))}
    </section>
  );
}

function sum(parts: readonly number[]): number {
  return parts.reduce((all, nanos) => all + nanos, 0);
}
