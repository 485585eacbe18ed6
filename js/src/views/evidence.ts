// What a finding points to, made into the state that shows it.

import type { Evidence } from "../data/graphs.ts";
import { OPTIONS, type Options } from "../data/protocol.ts";

// How rows are counted and laid out stays; what would hide rows or steps does not.
const KEPT: ReadonlySet<keyof Options> = new Set<keyof Options>(["maxDepth", "orderBy", "select", "timing"]);

/** The options that show some evidence, in a widget that was made with these. */
export function optionsShowing(evidence: Evidence, initial: Options): Options {
  return Object.fromEntries(
    OPTIONS.map(({ name, key, default: usual }) => [
      key,
      evidence.options[name] ?? (KEPT.has(key) ? initial[key] : usual),
    ]),
  ) as unknown as Options;
}
