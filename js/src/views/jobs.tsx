// The tasks of jobs while they run: a row for each, a button that asks for a trace, and the last profile of one of them.

import { type Signal, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { countedByStatus, type Job, type JobTask, jobsOf, shareOf } from "../data/jobs.ts";
import { notableDrift } from "../data/live.ts";
import type { Model } from "../data/model.ts";
import { plainType, shortCount, shortTime, visible } from "../lib/format.ts";
import { Store } from "../state/store.ts";
import { StepTimes } from "../ui/bars.tsx";
import { ScrollSideways } from "../ui/tables.tsx";
import { Frame } from "./frame.tsx";

const STEPS_SHOWN = 60;
const STEPS_ASKED = 5;

/** The panel; the kernel answers clicks once it is idle, and tells of the tasks all the time. */
export function JobsPanel({ store }: { readonly store: Store }) {
  const { model } = store.host;
  const jobs = useTrait(model, "tasks", jobsOf).value;
  const said = useTrait(model, "_said", String).value;
  const opened = useTrait(model, "_opened", openedOf).value;
  const [asked, setAsked] = useState("");
  useEffect(() => {
    model.send?.({ request: "shown" });
    return () => model.send?.({ request: "hidden" });
  }, [model]);
  useEffect(() => setAsked(""), [said, opened]);
  const ask = (request: string, task: string): void => {
    setAsked(task);
    model.send?.({ request, task });
  };
  const all = jobs.flatMap(({ tasks }) => tasks);
  return (
    <div class="jobs">
      <p class="live-told">
        {/* Spoken only when a task begins or ends: the numbers change each second. */}
        <span role="status">
          {all.length ? countedByStatus(all) : "No task has told of itself in this directory yet."}
        </span>
        {asked && <span class="dim">{visible(asked)}: waiting for the kernel …</span>}
        {said && <span class="dim">{visible(said)}</span>}
      </p>
      {all.length > 0 && (
        <ScrollSideways label="tasks">
          <table class="figures">
            <caption>Tasks of jobs</caption>
            <Heads />
            {jobs.map((job) => (
              <JobRows key={job.name} job={job} opened={opened?.task ?? ""} ask={ask} />
            ))}
          </table>
        </ScrollSideways>
      )}
      {opened && (
        <Opened
          key={opened.widget}
          store={store}
          opened={opened}
          close={() => model.send?.({ request: "close" })}
        />
      )}
    </div>
  );
}

/** What a trait holds, now and later. */
function useTrait<Value>(model: Model, trait: string, read: (told: unknown) => Value): Signal<Value> {
  const [value] = useState(() => signal(read(model.get(trait))));
  useEffect(() => {
    const hear = (): void => {
      value.value = read(model.get(trait));
    };
    model.on(`change:${trait}`, hear);
    hear();
    return () => model.off(`change:${trait}`, hear);
  }, [model, trait, value, read]);
  return value;
}

/** The task whose profile is shown, and the widget of it. */
interface OpenedTask {
  readonly task: string;
  readonly widget: string;
}

function openedOf(told: unknown): OpenedTask | null {
  return (told as OpenedTask | undefined)?.widget ? (told as OpenedTask) : null;
}

const HEADS: readonly (readonly [title: string, help: string, isWide?: boolean])[] = [
  ["task", "a click shows its last profile"],
  ["status", "silent: nothing was heard for three times the interval in which it writes"],
  ["time", "how long it has been captured", true],
  ["steps", "steps that have ended"],
  ["a step", "the median of the last steps, and by how much it is more or less than at first"],
  ["last steps", "the times of the last steps, oldest first", true],
  ["so far", "where the time of the task went"],
  ["input", "share of the time in which Python waited for a batch", true],
  ["Python", "share of the time in which Python ran and no step did", true],
  ["costliest", "the op types that take most of a step", true],
];

// What is no number stands at the left.
const LEFT = ["status", "last steps", "so far", "costliest"];

function Heads() {
  return (
    <thead>
      <tr>
        {HEADS.map(([title, help, isWide]) => (
          <th
            key={title}
            scope="col"
            title={help}
            class={isWide ? "wider" : undefined}
            data-left={LEFT.includes(title) || undefined}
          >
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface RowProps {
  /** The name of the task whose profile is shown. */
  readonly opened: string;
  readonly ask: (request: string, task: string) => void;
}

/** A job: its name with the button that asks it for a trace, then its tasks. */
function JobRows({ job: { name, tasks }, opened, ask }: RowProps & { readonly job: Job }) {
  // A silent one may only be slow.
  const mayAnswer = tasks.some(({ status }) => status === "running" || status === "silent");
  return (
    <tbody>
      <tr class="job">
        <th scope="rowgroup" colSpan={HEADS.length}>
          {visible(name)} <span class="dim">{countedByStatus(tasks)}</span>
          {mayAnswer && (
            <button
              type="button"
              title="Its tasks see that within seconds, trace their next steps and hand them in"
              onClick={() => ask("trace", tasks[0]?.name ?? "")}
            >
              trace {STEPS_ASKED} steps
            </button>
          )}
        </th>
      </tr>
      {tasks.map((task) => (
        <TaskRow key={task.name} task={task} opened={opened} ask={ask} />
      ))}
    </tbody>
  );
}

function TaskRow({ task, opened, ask }: RowProps & { readonly task: JobTask }) {
  const changed = notableDrift(task);
  return (
    <tr aria-current={task.name === opened || undefined}>
      <th scope="row">
        {task.hasProfile ? (
          <button type="button" title="Show its last profile" onClick={() => ask("open", task.name)}>
            {visible(task.task)}
          </button>
        ) : (
          <span title="It has written no profile yet">{visible(task.task)}</span>
        )}
      </th>
      <td class="status-of-task" title={statusText(task)}>
        <span class="phase" data-phase={task.status} aria-hidden="true" /> {statusText(task)}
      </td>
      <td class="wider">{shortTime(1e6 * task.seconds)}</td>
      <td>{shortCount(task.steps)}</td>
      <td>
        {task.stepSeconds ? shortTime(1e6 * task.stepSeconds) : "–"}
        {changed && (
          <span class="drift" data-slower={changed.startsWith("+") || undefined}>
            {` ${changed}`}
          </span>
        )}
      </td>
      <td class="wider">
        <StepTimes seconds={task.strip} room={STEPS_SHOWN} />
      </td>
      <td>
        <Budget task={task} />
      </td>
      <td class="wider">{percent(shareOf(task, "input"))}</td>
      <td class="wider">{percent(shareOf(task, "python"))}</td>
      <td class="wider ops">
        {task.costliest
          .slice(0, 2)
          .map(([op]) => visible(plainType(op)))
          .join(", ") || "–"}
      </td>
    </tr>
  );
}

function statusText({ status, phase, lastWords, exitCode }: JobTask): string {
  if (status === "running") return phase;
  const code = exitCode ? ` (${exitCode})` : "";
  return `${status}${code}${lastWords ? `: ${visible(lastWords)}` : ""}`;
}

function percent(share: number): string {
  return share ? `${share} %` : "–";
}

/** Where the time went, as a bar without words; they are in its title. */
function Budget({ task: { parts } }: { readonly task: JobTask }) {
  const text = parts.map(({ name, share }) => `${name} ${share} %`).join(", ") || "nothing is known yet";
  return (
    <span class="passes" role="img" aria-label={text} title={text}>
      {parts.map(({ key, share }) => (
        <span key={key} data-part={key} style={{ width: `${share}%` }} />
      ))}
    </span>
  );
}

interface OpenedProps {
  readonly store: Store;
  readonly opened: OpenedTask;
  readonly close: () => void;
}

/** The last profile of a task, in a frame of its own. */
function Opened({ store: { host }, opened, close }: OpenedProps) {
  const [shown, setShown] = useState<Store | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let made: Store | undefined;
    let isGone = false;
    const find = async (): Promise<void> => {
      if (!host.source)
        throw new Error("this host finds no other widgets: load the file of the task instead");
      const model = await host.source.getModel(opened.widget);
      if (isGone) return;
      made = new Store({ ...host, model });
      setShown(made);
    };
    find().catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
    return () => {
      isGone = true;
      made?.dispose();
    };
  }, [host, opened.widget]);
  return (
    <section class="opened" aria-label={`profile of ${opened.task}`}>
      <p>
        The last profile of <b>{visible(opened.task)}</b>{" "}
        <button type="button" onClick={close}>
          close
        </button>
      </p>
      {problem && <p role="alert">{problem}</p>}
      {shown && <Frame store={shown} />}
    </section>
  );
}
