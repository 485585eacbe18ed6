// The memory of a step: its curve, its peak, and the nodes that hold it then.

import { useMemo } from "preact/hooks";
import { deviceLabel } from "../analysis/devices.ts";
import { ownLine } from "../analysis/frames.ts";
import {
  allocatorRows,
  type DeviceMemory,
  type Holder,
  holdersAtPeak,
  labelled,
  memoryOfStep,
  memoryRows,
  memoryTitle,
  peakBytes,
  requestedInStep,
  stepWithMostMemory,
} from "../analysis/memory.ts";
import { SIZES } from "../data/chart_words.ts";
import type { Allocator } from "../data/graphs.ts";
import type { Profile } from "../data/profile.ts";
import { share, shortBytes, shortTime, visible } from "../lib/format.ts";
import { selectionAfter, stepsOf, stepsShown } from "../state/selection.ts";
import type { Store } from "../state/store.ts";
import { Chart } from "./charts/chart.tsx";

/** The memory of the chosen step, or of the one with the most where the mean of several is chosen. */
export function MemoryPanel({ store }: { readonly store: Store }) {
  const { profile } = store.shown;
  const shown = stepsShown(store);
  const steps = stepsOf(shown.value);
  const most = stepWithMostMemory(profile, steps);
  const step = most >= 0 ? most : (steps[0] ?? 0);
  const devices = useMemo(() => memoryOfStep(profile, step), [profile, step]);
  const data = useMemo(() => labelled(memoryRows(profile, devices)), [profile, devices]);
  return (
    <div class="memory">
      <Allocators store={store} />
      {devices.length > 0 && (
        <section aria-label="memory over time">
          <header>
            <h3>{memoryTitle(profile, step, steps.length > 1)}</h3>
            <span class="dim">{devices.map((device) => peakLine(profile, device)).join(" · ")}</span>
          </header>
          <Chart
            store={store}
            spec="memory"
            data={data}
            height={SIZES.memoryHeight}
            label={`Memory over time. ${devices.map((device) => peakLine(profile, device)).join("; ")}`}
            marks={[]}
          />
        </section>
      )}
      {devices.map((device) => (
        <Holders
          key={device.device}
          store={store}
          title={`Alive at the peak on ${nameOf(profile, device)}`}
          holders={holdersAtPeak(profile, device)}
          step={step}
        />
      ))}
      {!devices.length && <WithoutTimes store={store} step={step} />}
    </div>
  );
}

/** What each allocator had in use while it was recorded, beside what its device has. */
function Allocators({ store }: { readonly store: Store }) {
  const allocators = store.shown.accelerators?.allocators ?? NO_ALLOCATORS;
  const data = useMemo(() => labelled(allocatorRows(allocators)), [allocators]);
  if (!allocators.length) return null;
  return (
    <section aria-label="memory by allocator">
      <header>
        <h3>Memory in use by allocator</h3>
      </header>
      <Chart
        store={store}
        spec="memory"
        data={data}
        height={SIZES.memoryHeight}
        label={`Memory in use over time. ${allocators.map(({ name, peak }) => `${name}: peak ${shortBytes(peak)}`).join("; ")}`}
        marks={[]}
      />
      <table class="figures">
        <caption>Peak of each allocator</caption>
        <thead>
          <tr>
            <th scope="col">allocator</th>
            <th scope="col">device</th>
            <th scope="col">peak</th>
            <th scope="col" title="the memory of the device">
              capacity
            </th>
            <th scope="col" title="the peak by the capacity">
              share
            </th>
          </tr>
        </thead>
        <tbody>
          {allocators.map(({ name, device, peak, capacity }) => (
            <tr key={`${name} ${device}`}>
              <th scope="row">{visible(name)}</th>
              <td>{deviceLabel(device)}</td>
              <td title={inBytes(peak)}>{shortBytes(peak)}</td>
              <td>{capacity ? shortBytes(capacity) : "–"}</td>
              <td>{capacity ? share(peak, capacity) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const NO_ALLOCATORS: readonly Allocator[] = [];

function inBytes(bytes: number): string {
  return `${bytes.toLocaleString("en")} B`;
}

/** What is known where no allocation was recorded: what the ops asked for, or nothing, and why. */
function WithoutTimes({ store, step }: { readonly store: Store; readonly step: number }) {
  const { profile } = store.shown;
  const holders = requestedInStep(profile, step);
  if (!profile.steps.length) {
    return <p>Nothing was run, so no memory was used: profile a run, or give its RunMetadata.</p>;
  }
  if (!holders.length && store.shown.accelerators?.allocators.length) {
    return <p>Which ops held this memory was not recorded.</p>;
  }
  if (!holders.length) {
    return (
      <p>
        No memory was recorded in this step. Session runs traced with RunOptions.FULL_TRACE record what every
        op allocates; other traces do so only where an op asks the allocator for memory.
      </p>
    );
  }
  return (
    <>
      <p>
        This step has no allocation records, so it is not known when memory was held; below is what each op
        asked for.
      </p>
      <Holders store={store} title="Bytes requested" holders={holders} step={step} />
    </>
  );
}

function peakLine(profile: Profile, device: DeviceMemory): string {
  const when = shortTime((device.nanos[device.peak] ?? 0) / 1e3);
  return `${nameOf(profile, device)}: peak ${shortBytes(peakBytes(device))} at ${when}`;
}

function nameOf({ nodes }: Profile, { device }: DeviceMemory): string {
  return deviceLabel(nodes.devices[device] ?? "", nodes.devices);
}

interface HoldersProps {
  readonly store: Store;
  readonly title: string;
  readonly holders: readonly Holder[];
  readonly step: number;
}

// The rest is said as one row: what is small is many.
const MOST_ROWS = 100;

/** A row an op; its name selects it everywhere. */
function Holders({ store, title, holders, step }: HoldersProps) {
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
            <HolderRow
              key={holder.node}
              store={store}
              profile={profile}
              holder={holder}
              whole={whole}
              step={step}
            />
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
  readonly step: number;
}

function HolderRow({ store, profile, holder: { node, bytes }, whole, step }: HolderRowProps) {
  const { nodes } = profile;
  const name = nodes.names[node] ?? "";
  const frame = ownLine(profile, node, [step]);
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
      <td title={inBytes(bytes)}>{shortBytes(bytes)}</td>
      <td class="dim">{share(bytes, whole)}</td>
      <td title={frame?.source}>{frame?.name}</td>
    </tr>
  );
}
