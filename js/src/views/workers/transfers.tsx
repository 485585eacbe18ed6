// What went between tasks: the matrix of links, and the costliest transfers.

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import {
  byteRate,
  type Cell,
  linkMatrix,
  placed,
  type Sorting,
  sortedTransfers,
  type TransferColumn,
  time,
  turned,
} from "../../analysis/workers.ts";
import type { Cluster } from "../../data/graphs.ts";
import type { Profile } from "../../data/profile.ts";
import { shortBytes, shortCount, visible } from "../../lib/format.ts";
import { selectionAfter } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
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
        <span class="dim">bytes a step · rate · how long the receiver waited before it was sent</span>
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
  const { bytes, count, kinds, transferNanos, waitNanos } = cell;
  return (
    <td
      style={{ "--depth": `${largest ? Math.round((60 * bytes) / largest) : 0}%` }}
      title={`${bytes.toLocaleString("en")} B in ${shortCount(count)} transfers by ${visible(kinds.join(", "))}`}
    >
      {shortBytes(bytes)}
      <small>
        {byteRate(bytes, transferNanos)}
        {waitNanos > 0 && ` · waits ${time(waitNanos)}`}
      </small>
    </td>
  );
}

const COLUMNS: readonly (readonly [column: TransferColumn, title: string, help: string])[] = [
  ["tensor", "tensor", "what was moved"],
  ["kind", "by", "how it was moved"],
  ["source", "from", "the device that made it"],
  ["target", "to", "the device that asked for it"],
  ["count", "count", "how often in a step"],
  ["bytes", "bytes", "bytes a step"],
  ["time", "time", "how long it was on its way"],
  ["rate", "rate", "bytes over that time"],
  ["wait", "waits", "how long the receiver waited before it was sent"],
];
const SHOWN_AT_FIRST = 12;

/** A row a tensor; the heads of the columns sort them. */
export function TransferTable({ store, cluster }: { readonly store: Store; readonly cluster: Cluster }) {
  const { transfers, transfersLeftOut: leftOut } = cluster;
  const { sorting, isWhole } = store.kept("transfers", () => ({
    sorting: signal<Sorting>({ column: "time", isDescending: true }),
    isWhole: signal(false),
  }));
  const nodes = useMemo(() => nodesOf(store.shown.profile), [store.shown.profile]);
  if (!transfers.length) return null;
  const sorted = sortedTransfers(transfers, sorting.value);
  const shown = isWhole.value ? sorted : sorted.slice(0, SHOWN_AT_FIRST);
  return (
    <section aria-label="transfers">
      <header>
        <h3>Costliest transfers</h3>
        {leftOut > 0 && <span class="dim">{shortCount(leftOut)} more cost less</span>}
      </header>
      <ScrollSideways label="table of transfers">
        <table class="figures transfers">
          <caption>Tensors that devices got from others</caption>
          <thead>
            <tr>
              {COLUMNS.map(([column, title, help]) => (
                <th key={column} scope="col" aria-sort={sortOf(sorting.value, column)}>
                  <button
                    type="button"
                    title={help}
                    onClick={() => {
                      sorting.value = turned(sorting.value, column);
                    }}
                  >
                    {title}
                    <span aria-hidden="true">{markOf(sorting.value, column)}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ tensor, kind, source, target, count, bytes, transferNanos, waitNanos }) => (
              <tr key={JSON.stringify([tensor, kind, source, target])}>
                <th scope="row" title={visible(tensor)}>
                  <Tensor store={store} tensor={tensor} node={nodes.get(tensor)} />
                </th>
                <td class="dim">{visible(kind)}</td>
                <td title={source}>{placed(source)}</td>
                <td title={target}>{placed(target)}</td>
                <td>{shortCount(count)}</td>
                <td title={`${bytes.toLocaleString("en")} B`}>{shortBytes(bytes)}</td>
                <td>{time(transferNanos)}</td>
                <td>{byteRate(bytes, transferNanos)}</td>
                <td>{time(waitNanos)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollSideways>
      {sorted.length > SHOWN_AT_FIRST && (
        <button
          type="button"
          aria-expanded={isWhole.value}
          onClick={() => {
            isWhole.value = !isWhole.value;
          }}
        >
          {isWhole.value ? "show fewer" : `show all ${sorted.length}`}
        </button>
      )}
    </section>
  );
}

/** The tensor's name, which selects the node that made it, where that is known. */
function Tensor(props: {
  readonly store: Store;
  readonly tensor: string;
  readonly node: string | undefined;
}) {
  const { store, tensor, node } = props;
  if (!tensor) return <span class="dim">of no known op</span>;
  if (node === undefined) return <>{visible(tensor)}</>;
  return (
    <button
      type="button"
      aria-pressed={store.selection.value.includes(node)}
      onClick={({ ctrlKey, metaKey }) => {
        store.selection.value = selectionAfter(store.selection.value, node, ctrlKey || metaKey);
      }}
    >
      {visible(tensor)}
    </button>
  );
}

/** The nodes that made tensors, by the tensors' names. */
function nodesOf({ transfers, nodes }: Profile): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  transfers.node.forEach((node, row) => {
    const name = nodes.names[node];
    if (name !== undefined) found.set(transfers.tensors[transfers.tensor[row] as number] as string, name);
  });
  return found;
}

function sortOf({ column, isDescending }: Sorting, of: TransferColumn) {
  if (column !== of) return "none";
  return isDescending ? "descending" : "ascending";
}

function markOf(sorting: Sorting, column: TransferColumn): string {
  return { none: "", ascending: " ▴", descending: " ▾" }[sortOf(sorting, column)];
}
