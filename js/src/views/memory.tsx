// The panel of memory: what each device held over the time of a step, and whose it was at the peak.

import { useMemo } from "preact/hooks";
import { deviceLabel } from "../analysis/devices.ts";
import {
  curveOf,
  type DeviceMemory,
  holdersAtPeak,
  memoryOfStep,
  peakBytes,
  requestedInStep,
  stepWithMostMemory,
} from "../analysis/memory.ts";
import type { Profile } from "../data/profile.ts";
import { shortBytes, shortTime } from "../lib/format.ts";
import { stepsOf, stepsShown } from "../state/steps_shown.ts";
import type { Store } from "../state/store.ts";
import { Chart } from "./charts/chart.tsx";
import { Holders } from "./holders.tsx";

// As many as a chart has pixels to show.
const STRETCHES = 300;
const HEIGHT = 200;

/** The memory of the chosen step, or of the one with the most where the mean of several is chosen. */
export function MemoryPanel({ store }: { readonly store: Store }) {
  const { profile } = store.shown;
  const shown = useMemo(() => stepsShown(store), [store]);
  const steps = stepsOf(shown.value);
  const most = stepWithMostMemory(profile, steps);
  const step = most >= 0 ? most : (steps[0] ?? 0);
  const devices = useMemo(() => memoryOfStep(profile, step), [profile, step]);
  const data = useMemo(() => dataOf(profile, devices), [profile, devices]);
  return (
    <div class="memory">
      {devices.length > 0 && (
        <section aria-label="memory over time">
          <header>
            <h3>{titleOf(profile, step, steps.length > 1)}</h3>
            <span class="dim">{devices.map((device) => peakLine(profile, device)).join(" · ")}</span>
          </header>
          <Chart
            store={store}
            name="memory"
            spec="memory"
            data={data}
            height={HEIGHT}
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
        />
      ))}
      {!devices.length && <WithoutTimes store={store} step={step} />}
    </div>
  );
}

/** What is known where no allocation was recorded: what the ops asked for, or nothing, and why. */
function WithoutTimes({ store, step }: { readonly store: Store; readonly step: number }) {
  const { profile } = store.shown;
  const holders = requestedInStep(profile, step);
  if (!profile.steps.length) {
    return <p>Nothing was run, so no memory was used: profile a run, or give its RunMetadata.</p>;
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
      <Holders store={store} title="Bytes requested" holders={holders} />
    </>
  );
}

function titleOf({ steps, stepNames, stepWorkers }: Profile, step: number, isOfSeveral: boolean): string {
  const name = [stepNames[step], stepWorkers[step]].map((each) => (each ? ` · ${each}` : "")).join("");
  const most = isOfSeveral ? ", the one with the largest peak" : "";
  return `Memory over time, step ${steps[step]}${name}${most}`;
}

function peakLine(profile: Profile, device: DeviceMemory): string {
  const when = shortTime((device.nanos[device.peak] ?? 0) / 1e3);
  return `${nameOf(profile, device)}: peak ${shortBytes(peakBytes(device))} at ${when}`;
}

function nameOf({ nodes }: Profile, { device }: DeviceMemory): string {
  return deviceLabel(nodes.devices[device] ?? "", nodes.devices);
}

/** The curves and peaks, as tfprof_widget/widget/charts.py names their fields. */
function dataOf(profile: Profile, devices: readonly DeviceMemory[]) {
  const row = (device: DeviceMemory, nanos: number, bytes: number) => ({
    device: nameOf(profile, device),
    seconds: nanos / 1e9,
    bytes,
    when: shortTime(nanos / 1e3),
    exact: `${bytes.toLocaleString("en")} B`,
  });
  const curve = (device: DeviceMemory) => {
    const points = curveOf(device, STRETCHES);
    return points.map(({ nanos, bytes }, index) => ({
      ...row(device, nanos, bytes),
      until: (points[index + 1] ?? { nanos }).nanos / 1e9,
    }));
  };
  return {
    memory: devices.flatMap(curve),
    peaks: devices.map((device) => ({
      ...row(device, device.nanos[device.peak] ?? 0, peakBytes(device)),
      label: `peak ${shortBytes(peakBytes(device))}`,
    })),
  };
}
