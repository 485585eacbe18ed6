// How a capture stands that may still run, as Python tells it.

import { camelCased, type Part, partsOf } from "./graphs.ts";

/** `live_to_browser` of tfprof_widget/widget/live.py; times are in seconds. */
export interface LiveState {
  readonly what: string;
  readonly phase: "starting" | "first runs" | "running" | "reading" | "done";
  /** The phase in words. */
  readonly told: string;
  readonly seconds: number;
  readonly runs: number;
  readonly traced: number;
  /** The kind of the steps that are told of. */
  readonly kind: string;
  readonly steps: number;
  /** The medians of the first steps and of the last ones; 0 where none is known. */
  readonly firstSeconds: number;
  readonly stepSeconds: number;
  /** The last steps, oldest first. */
  readonly strip: readonly number[];
  /** How long the run has gone on that has not ended; 0 for none. */
  readonly underWay: number;
  readonly parts: readonly Part[];
  readonly costliest: readonly (readonly [op: string, seconds: number])[];
  readonly notes: readonly string[];
}

/** The state of a trait; null before Python has told any. */
export function liveStateOf(told: unknown): LiveState | null {
  if (!told || !(told as { phase?: unknown }).phase) return null;
  const { parts, ...state } = told as Record<string, unknown>;
  return {
    ...(camelCased(state) as Omit<LiveState, "parts">),
    parts: partsOf(parts as readonly (readonly unknown[])[]),
  };
}

// What takes this much longer or less than at first is said.
const NOTABLE_PERCENT = 10;

/** By how much a step takes more or less lately than at first, as in "+25 %"; empty where that is not worth saying. */
export function notableDrift({ firstSeconds, stepSeconds }: LiveState): string {
  const percent = firstSeconds && stepSeconds ? Math.round(100 * (stepSeconds / firstSeconds - 1)) : 0;
  if (Math.abs(percent) < NOTABLE_PERCENT) return "";
  return `${percent > 0 ? "+" : "−"}${Math.abs(percent)} %`;
}
