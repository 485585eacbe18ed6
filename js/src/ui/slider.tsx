// A number to drag, with a box to type it: the slider goes from stop to stop, the box takes any value.

import { nearestStop } from "../lib/stops.ts";
import { spokenNumber, unitOf } from "../lib/typed_text.ts";
import { usePerFrame } from "./deferred.ts";
import { type ControlProps, setOption, useOption } from "./fields.tsx";
import { type Limits, useLimits } from "./limits.ts";
import { NumberField } from "./number_box.tsx";

/** The box, and the slider below it with the spread of the nodes over its stops. */
export function Slider(control: ControlProps) {
  const { option } = control;
  const value = useOption<number>(control).value;
  const limits = useLimits(control).value;
  const move = usePerFrame((value: number) => setOption(control, value));
  const stop = nearestStop(limits.stops, value);
  const last = limits.stops.length - 1;
  // At the end all values do the same, so it may be the one that the widget was made with.
  const initial = control.store.initial[option.key] as number;
  const valueAt = (at: number): number => Math.max(limits.stops[at] as number, at === last ? initial : 0);
  return (
    <div class="slider">
      <NumberField {...control} stops={limits.stops} />
      <div class="track">
        <Spread limits={limits} from={stop} />
        <input
          type="range"
          aria-labelledby={`label-${option.name}`}
          aria-description={option.help}
          aria-valuetext={spokenNumber(value, unitOf(option.name))}
          title={option.help}
          min={0}
          max={last}
          step={1}
          value={stop}
          style={{ "--fill": `${(100 * stop) / Math.max(last, 1)}%` }}
          onInput={(event) => move(valueAt(event.currentTarget.valueAsNumber))}
          onChange={move.flush}
        />
      </div>
    </div>
  );
}

/** How many nodes there are along the slider, those that are kept in a stronger tone. */
function Spread({ limits: { counts }, from }: { readonly limits: Limits; readonly from: number }) {
  if (!counts) return null;
  const most = Math.log1p(counts.subarray(1, -1).reduce((one, other) => Math.max(one, other), 1));
  const bars = (first: number, end: number): string =>
    Array.from({ length: Math.max(end - first, 0) }, (_, index) => first + index)
      .map((stop) => `M${stop} 1V${1 - Math.log1p(counts[stop] as number) / most}h.9V1z`)
      .join("");
  const width = Math.max(counts.length - 1, 1);
  return (
    <svg class="spread" viewBox={`0 0 ${width} 1`} preserveAspectRatio="none" aria-hidden="true">
      <path class="dropped" d={bars(1, Math.min(from, width))} />
      <path d={bars(Math.max(from, 1), width)} />
    </svg>
  );
}
