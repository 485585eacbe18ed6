// How the parameters are spread over the tasks that hold some.

import { placed, times } from "../../analysis/figures.ts";
import type { Cluster, Task } from "../../data/cluster.ts";
import { shortCount } from "../../lib/format.ts";
import { ScrollSideways } from "../../ui/tables.tsx";

/** A bar a task, and the line of the mean of its job; nothing where no task holds parameters. */
export function ParameterTable({
  cluster: { tasks, parameter_balance: balance },
}: {
  readonly cluster: Cluster;
}) {
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
