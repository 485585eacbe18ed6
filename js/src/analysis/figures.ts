// The figures of tasks and transfers as the tables write them.

import { shortTime, shortUnits } from "../lib/format.ts";
import { visible } from "../lib/visible.ts";
import { placeLabel } from "./devices.ts";

const NANOS_A_MICRO = 1000;
const NANOS_A_SECOND = 1e9;

/** A task, or a device of one, by the name that people say: ps 0, worker 1 · CPU:0. */
export function placed(name: string): string {
  return visible(placeLabel(name, true));
}

/** Nanoseconds. */
export function time(nanos: number): string {
  return shortTime(nanos / NANOS_A_MICRO);
}

/** How fast so many bytes went in so much time; nothing is said of what took none, or had none. */
export function byteRate(bytes: number, nanos: number): string {
  return nanos > 0 && bytes > 0 ? shortUnits((bytes * NANOS_A_SECOND) / nanos, "B/s") : "–";
}

/** A value as so many times another: 1.39 ×. */
export function times(value: number, of: number): string {
  return of ? `${(value / of).toFixed(2)} ×` : "–";
}

/** A part of a whole that is at most 1. */
export function percent(part: number | null): string {
  return part === null ? "–" : `${Math.round(100 * part)} %`;
}

/** How far a clock is from the first task's, and how sure that is. */
export function offset(nanos: number, error: number | null): string {
  if (error === null) return "not known";
  if (nanos === 0 && error === 0) return "reference";
  return `${nanos < 0 ? "−" : "+"}${time(Math.abs(nanos))} ± ${time(error)}`;
}
