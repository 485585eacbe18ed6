// Numbers as the widget shows them: three digits and an SI unit at a glance, the whole of it on hover.

import type { Measure } from "../engine/measures.ts";
import { isTime } from "../engine/measures.ts";

type Scale = readonly (readonly [factor: number, unit: string])[];

const SECONDS: Scale = [
  [1e6, "s"],
  [1e3, "ms"],
  [1, "µs"],
  [1e-3, "ns"],
];
const POWERS: Scale = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
// Up to here a count is read better in full.
const LARGEST_IN_FULL = 99_999;

/** Microseconds: 412.6 ms, 350 ns. */
export function shortTime(micros: number): string {
  return scaled(micros, SECONDS, "");
}

/** Bytes in powers of ten: 318.4 MB, 512 B. */
export function shortBytes(bytes: number): string {
  return scaled(bytes, POWERS, "B");
}

/** A count: 7,904 in full, then 41.2 M. */
export function shortCount(count: number): string {
  return Math.abs(count) <= LARGEST_IN_FULL ? WHOLE.format(rounded(count)) : scaled(count, POWERS, "");
}

/** What is counted in a unit of its own: 41.2 GFLOP, 110 GFLOP/s. */
export function shortUnits(count: number, unit: string): string {
  return scaled(count, POWERS, unit);
}

/** A part of a whole: 13.3 %. */
export function share(part: number, whole: number): string {
  return whole && part ? `${((100 * part) / whole).toFixed(1)} %` : "–";
}

/** A value of a measure, in microseconds, bytes or as a count. */
export function short(measure: Measure, value: number): string {
  if (isTime(measure)) return shortTime(value);
  return measure.endsWith("bytes") ? shortBytes(value) : shortCount(value);
}

/** The same in full, with its unit. */
export function exact(measure: Measure, value: number): string {
  return `${WHOLE.format(value)} ${exactUnit(measure)}`;
}

function exactUnit(measure: Measure): string {
  if (isTime(measure)) return "µs";
  if (measure.endsWith("bytes")) return "B";
  return { float_ops: "FLOP", params: "parameters" }[measure as string] ?? "runs";
}

function scaled(value: number, scale: Scale, unit: string): string {
  const size = Math.abs(value);
  if (size === 0) return `0 ${unit || scale.at(-2)?.[1]}`.trim();
  // What would be written as 1,000 of a unit is one of the next.
  const [factor, prefix] = scale.find(([each]) => size >= 0.99995 * each) ?? scaleless(scale);
  return `${digits(value / factor)} ${prefix}${unit}`.trim();
}

/** What is smaller than the smallest unit is written in it; counts have one without a name. */
function scaleless(scale: Scale): readonly [number, string] {
  return scale === SECONDS ? [1e-3, "ns"] : [1, ""];
}

function digits(value: number): string {
  // 0.35 of a thousand is 350, whatever doubles make of it.
  const whole = Math.round(value);
  if (Math.abs(value - whole) < 1e-9 && Math.abs(whole) < 1000) return String(whole);
  return value.toFixed(Math.abs(value) < 9.995 ? 2 : 1);
}

function rounded(count: number): number {
  return Math.abs(count) < 10 ? count : Math.round(count);
}
