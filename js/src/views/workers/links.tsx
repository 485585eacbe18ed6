// What goes from task to task in a step, as a matrix: the more bytes, the darker.

import { useMemo } from "preact/hooks";
import { byteRate, placed, time } from "../../analysis/figures.ts";
import { type Cell, linkMatrix } from "../../analysis/link_matrix.ts";
import type { Cluster } from "../../data/cluster.ts";
import { shortBytes, shortCount } from "../../lib/format.ts";
import { visible } from "../../lib/visible.ts";
import { ScrollSideways } from "../../ui/tables.tsx";

// As many as can be looked at.
const MOST = 16;

/** The matrix; nothing where nothing went between tasks. */
export function LinkTable({ cluster: { links, tasks } }: { readonly cluster: Cluster }) {
  const matrix = useMemo(
    () =>
      linkMatrix(
        links,
        MOST,
        tasks.map(({ task }) => task),
      ),
    [links, tasks],
  );
  if (!links.length) return null;
  return (
    <section aria-label="links">
      <header>
        <h3>Between tasks</h3>
        <span class="dim">
          bytes a step · rate · how long the one who got it stood still before it was on its way
        </span>
      </header>
      <ScrollSideways label="matrix of links">
        <table class="figures matrix">
          <caption>What each task got from each other</caption>
          <thead>
            <tr>
              <th scope="col">from ↓ to →</th>
              {matrix.targets.map((target) => (
                <th key={target} scope="col" title={target}>
                  {placed(target)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {matrix.sources.map((source) => (
              <tr key={source}>
                <th scope="row" title={source}>
                  {placed(source)}
                </th>
                {matrix.targets.map((target) => (
                  <LinkCell key={target} cell={matrix.cell(source, target)} largest={matrix.largest} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollSideways>
      {matrix.others > 0 && <p class="dim">{matrix.others} more sent or got less.</p>}
    </section>
  );
}

function LinkCell({ cell, largest }: { readonly cell: Cell | undefined; readonly largest: number }) {
  if (!cell) return <td class="dim">–</td>;
  const { bytes, count, kinds, transfer_nanos, wait_nanos } = cell;
  return (
    <td
      style={{ "--depth": `${largest ? Math.round((60 * bytes) / largest) : 0}%` }}
      title={`${bytes.toLocaleString("en")} B in ${shortCount(count)} transfers by ${visible(kinds.join(", "))}`}
    >
      {shortBytes(bytes)}
      <small>
        {byteRate(bytes, transfer_nanos)}
        {wait_nanos > 0 && ` · waits ${time(wait_nanos)}`}
      </small>
    </td>
  );
}
