// The table of whose memory it is: the ops by bytes, each with its share and its line of source.

import { ownFrame, stackOf } from "../analysis/frames.ts";
import type { Holder } from "../analysis/memory.ts";
import type { Profile } from "../data/profile.ts";
import { share, shortBytes } from "../lib/format.ts";
import { selectionAfter } from "../state/selecting.ts";
import type { Store } from "../state/store.ts";

interface HoldersProps {
  readonly store: Store;
  readonly title: string;
  readonly holders: readonly Holder[];
}

// The rest is said as one row: what is small is many.
const MOST_ROWS = 100;

/** A row an op; its name selects it everywhere. */
export function Holders({ store, title, holders }: HoldersProps) {
  const { profile } = store.shown;
  const whole = holders.reduce((sum, { bytes }) => sum + bytes, 0);
  const others = holders.slice(MOST_ROWS);
  return (
    <section aria-label={title}>
      <header>
        <h3>{title}</h3>
      </header>
      <table class="holders" aria-label={title}>
        <thead>
          <tr>
            <th scope="col">op</th>
            <th scope="col">type</th>
            <th scope="col">bytes</th>
            <th scope="col">share</th>
            <th scope="col">line</th>
          </tr>
        </thead>
        <tbody>
          {holders.slice(0, MOST_ROWS).map((holder) => (
            <HolderRow key={holder.node} store={store} profile={profile} holder={holder} whole={whole} />
          ))}
          {others.length > 0 && (
            <tr class="dim">
              <td colSpan={2}>{others.length.toLocaleString("en")} more</td>
              <td>{shortBytes(others.reduce((sum, { bytes }) => sum + bytes, 0))}</td>
              <td colSpan={2} />
            </tr>
          )}
        </tbody>
      </table>
    </section>
  );
}

interface HolderRowProps {
  readonly store: Store;
  readonly profile: Profile;
  readonly holder: Holder;
  readonly whole: number;
}

function HolderRow({ store, profile, holder: { node, bytes }, whole }: HolderRowProps) {
  const { nodes } = profile;
  const name = nodes.names[node] ?? "";
  const frame = ownFrame(stackOf(profile, node));
  const isSelected = store.selection.value.includes(name);
  return (
    <tr data-selected={isSelected}>
      <th scope="row" title={name}>
        <button
          type="button"
          aria-pressed={isSelected}
          onClick={({ ctrlKey, metaKey }) => {
            store.selection.value = selectionAfter(store.selection.value, name, ctrlKey || metaKey);
          }}
        >
          {name}
        </button>
      </th>
      <td class="dim">{nodes.ops[nodes.op[node] ?? -1]}</td>
      <td title={`${bytes.toLocaleString("en")} B`}>{shortBytes(bytes)}</td>
      <td class="dim">{share(bytes, whole)}</td>
      <td title={frame?.source}>{frame?.name}</td>
    </tr>
  );
}
