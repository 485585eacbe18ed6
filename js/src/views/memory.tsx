// The memory of a step: its curve, its peak, and the nodes that hold it then.

import { batch, signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { deviceLabel } from "../analysis/devices.ts";
import { ownLine } from "../analysis/frames.ts";
import {
  allocatorRows,
  type DeviceMemory,
  eventAt,
  type Holder,
  holdersAfter,
  holdersAtPeak,
  labelled,
  memoryOfStep,
  memoryRows,
  memoryTitle,
  peakBytes,
  requestedInStep,
  stepWithMostMemory,
} from "../analysis/memory.ts";
import { KIND_COLOURS, KINDS, variablesOf } from "../analysis/memory_kinds.ts";
import { SIZES } from "../data/chart_words.ts";
import type { Allocator } from "../data/graphs.ts";
import type { Profile } from "../data/profile.ts";
import { share, shortBytes, shortTime, visible } from "../lib/format.ts";
import { selectionAfter, stepsOf, stepsShown } from "../state/selection.ts";
import type { Store } from "../state/store.ts";
import { Chart, type ChartMark } from "./charts/chart.tsx";

/** The memory of the chosen step, or of the one with the most where the mean of several is chosen. */
export function MemoryPanel({ store }: { readonly store: Store }) {
  const { profile } = store.shown;
  const shown = stepsShown(store);
  const steps = stepsOf(shown.value);
  const most = stepWithMostMemory(profile, steps);
  const step = most >= 0 ? most : (steps[0] ?? 0);
  const devices = useMemo(() => memoryOfStep(profile, step), [profile, step]);
  const moment = momentOf(store);
  const at = moment.value?.devices === devices ? moment.value.nanos : null;
  const choose = (nanos: number | null) => {
    moment.value = nanos === null ? null : { devices, nanos };
  };
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
            marks={momentMarks(profile, devices, at, choose)}
          />
          <p class="dim">
            {at === null
              ? "Below is what is alive at the peak; click on the curve, or choose with the arrow keys, to see it at another time."
              : `Below is what is alive ${shortTime(at / 1e3)} after the step began. `}
            {at !== null && (
              <button type="button" onClick={() => choose(null)}>
                back to the peak
              </button>
            )}
          </p>
        </section>
      )}
      {devices.map((device) => (
        <Holders
          key={device.device}
          store={store}
          title={`Alive at ${at === null ? "the peak" : shortTime(at / 1e3)} on ${nameOf(profile, device)}`}
          holders={
            at === null ? holdersAtPeak(profile, device) : holdersAfter(profile, device, eventAt(device, at))
          }
          step={step}
        />
      ))}
      {!devices.length && <WithoutTimes store={store} step={step} />}
    </div>
  );
}

/** The moment of which the holders are shown, of the curves that it was chosen in; null for the peak. */
function momentOf(store: Store) {
  return store.kept("memory moment", () =>
    signal<{ readonly devices: readonly DeviceMemory[]; readonly nanos: number } | null>(null),
  );
}

const MOST_MOMENTS = 80;

/** The curves in stretches of time, each of which leads to the moment in it at which most is held. */
function momentMarks(
  profile: Profile,
  devices: readonly DeviceMemory[],
  at: number | null,
  choose: (nanos: number) => void,
): readonly ChartMark[] {
  const first = Math.min(0, ...devices.map(({ nanos }) => nanos[0] ?? 0));
  const last = Math.max(...devices.map(({ nanos }) => nanos.at(-1) ?? 0));
  if (last <= first) return [];
  const width = (last - first) / MOST_MOMENTS;
  return Array.from({ length: MOST_MOMENTS }, (_, place) => {
    const [from, to] = [first + place * width, first + (place + 1) * width];
    const nanos = fullest(devices, from, to);
    return {
      key: `${place}`,
      lines: [
        ["", shortTime(nanos / 1e3)],
        ...devices.map((device) => [nameOf(profile, device), shortBytes(heldAt(device, nanos))] as const),
      ],
      left: place / MOST_MOMENTS,
      top: 0,
      width: 1 / MOST_MOMENTS,
      height: 1,
      isSelected: at !== null && at >= from && at < to,
      choose: () => choose(nanos),
    };
  });
}

function heldAt(device: DeviceMemory, nanos: number): number {
  return device.held[eventAt(device, nanos)] ?? device.before;
}

/** The time in a stretch at which the device with the largest peak holds most. */
function fullest([device]: readonly DeviceMemory[], from: number, to: number): number {
  let best = from;
  if (!device) return best;
  for (let event = eventAt(device, from) + 1; (device.nanos[event] ?? to) < to; event++) {
    if ((device.held[event] as number) > heldAt(device, best)) best = device.nanos[event] as number;
  }
  return best;
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
  const variables = [...variablesOf(profile)].sort((one, other) => other.bytes - one.bytes);
  const held = variables.length > 0 && (
    <Holders store={store} title="Held by variables, in and between steps" holders={variables} step={step} />
  );
  if (!holders.length) {
    return (
      <>
        <p>
          {store.shown.accelerators?.allocators.length
            ? "Which ops held this memory was not recorded."
            : `No memory was recorded in this step. Session runs traced with RunOptions.FULL_TRACE record what every
        op allocates; other traces do so only where an op asks the allocator for memory.`}
        </p>
        {held}
      </>
    );
  }
  return (
    <>
      <p>
        This step has no allocation records, so it is not known when memory was held; below is what each op
        asked for.
      </p>
      <Holders store={store} title="Bytes requested" holders={holders} step={step} />
      {held}
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
      <KindsBar holders={holders} whole={whole} />
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
              key={`${holder.node} ${holder.kind ?? ""}`}
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

/** What the memory is held for, as one bar and in words; nothing where kinds are not told. */
function KindsBar({ holders, whole }: { readonly holders: readonly Holder[]; readonly whole: number }) {
  const sums = KINDS.map((kind) => ({
    kind,
    bytes: holders.reduce((sum, each) => sum + (each.kind === kind ? each.bytes : 0), 0),
  })).filter(({ bytes }) => bytes > 0);
  if (!sums.length) return null;
  return (
    <>
      <div class="kindbar" aria-hidden="true">
        {sums.map(({ kind, bytes }) => (
          <i key={kind} style={{ background: `var(${KIND_COLOURS[kind]})`, flexGrow: bytes / whole }} />
        ))}
      </div>
      <ul class="kinds" aria-label="held for">
        {sums.map(({ kind, bytes }) => (
          <li key={kind} title={inBytes(bytes)}>
            <i style={{ background: `var(${KIND_COLOURS[kind]})` }} />
            {kind} <b>{shortBytes(bytes)}</b> <span class="dim">{share(bytes, whole)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

interface HolderRowProps {
  readonly store: Store;
  readonly profile: Profile;
  readonly holder: Holder;
  readonly whole: number;
  readonly step: number;
}

function HolderRow({ store, profile, holder: { node, bytes, kind }, whole, step }: HolderRowProps) {
  const { nodes } = profile;
  const name = nodes.names[node] ?? "";
  const frame = node < 0 ? undefined : ownLine(profile, node, [step]);
  const isSelected = store.selection.value.includes(name);
  return (
    <tr data-selected={isSelected}>
      <th scope="row" title={name}>
        {node < 0 && "variables without a row of their own"}
        {node >= 0 && (
          <button
            type="button"
            aria-pressed={isSelected}
            onClick={({ ctrlKey, metaKey }) => {
              store.selection.value = selectionAfter(store.selection.value, name, ctrlKey || metaKey);
            }}
          >
            {name}
          </button>
        )}
      </th>
      <td class="dim" title={kind}>
        {kind && <i style={{ background: `var(${KIND_COLOURS[kind]})` }} />}
        {nodes.ops[nodes.op[node] ?? -1]}
      </td>
      <td title={inBytes(bytes)}>{shortBytes(bytes)}</td>
      <td class="dim">{share(bytes, whole)}</td>
      <td title={frame?.source}>
        {frame && (
          <button
            type="button"
            onClick={() =>
              batch(() => {
                store.selection.value = [frame.name];
                store.tab.value = "code";
              })
            }
          >
            {frame.name}
          </button>
        )}
      </td>
    </tr>
  );
}
