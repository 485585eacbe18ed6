// The rows of the overview's layers: the time of each pass, and what else there is to say of a layer.

import { SIZES } from "../data/chart_words.ts";
import type { Profile } from "../data/profile.ts";
import { type Options, PASSES } from "../data/protocol.ts";
import { evaluate } from "../engine/evaluate.ts";
import { layerTypes } from "../engine/layers.ts";
import type { View } from "../engine/view.ts";

/** The passes by the names of their colours. */
export const PASS_NAMES = PASSES.map((pass) => pass.replace("_micros", ""));

/** A layer with what its passes take, in microseconds. */
interface LayerRow {
  readonly row: number;
  readonly name: string;
  readonly type: string;
  readonly depth: number;
  readonly micros: number;
  readonly passes: readonly number[];
  readonly bytes: number;
  readonly parameters: number;
  readonly floatOps: number;
}

/** The layers as the options have them, but in the order of the model; null where the options are wrong. */
export function layersInOrder(profile: Profile, options: Options): View | null {
  try {
    return evaluate(profile, "layers", { ...options, orderBy: "name" });
  } catch {
    return null; // the control of the option says what is wrong with it
  }
}

/** All rows below the root. */
export function layerRows(view: View): readonly LayerRow[] {
  const types = layerTypes(view);
  const unit = view.unit("micros");
  const passes = PASSES.map((pass) => view.own(pass));
  const [micros, bytes, parameters, floatOps] = (["micros", "bytes", "params", "float_ops"] as const).map(
    (measure) => Array.from(view.total(measure), (value) => value / view.unit(measure)),
  ) as [number[], number[], number[], number[]];
  const found: LayerRow[] = [];
  for (let row = 1; row < view.rows; row++) {
    found.push({
      row,
      name: view.name(row),
      type: types[row] === "scope" ? "" : (types[row] as string),
      depth: view.depth[row] as number,
      micros: micros[row] as number,
      passes: passes.map((pass) => (pass[row] as number) / unit),
      bytes: bytes[row] as number,
      parameters: parameters[row] as number,
      floatOps: floatOps[row] as number,
    });
  }
  return found;
}

/** The costliest rows, in the order in which they were. */
export function costliest(rows: readonly LayerRow[]): readonly LayerRow[] {
  const kept = [...rows].sort((one, other) => other.micros - one.micros).slice(0, SIZES.mostLayers);
  return kept.sort((one, other) => one.row - other.row);
}

/** The longest time of all passes of a row. */
export function longestPasses(rows: readonly LayerRow[]): number {
  return rows.reduce(
    (longest, { passes }) =>
      Math.max(
        longest,
        passes.reduce((sum, pass) => sum + pass, 0),
      ),
    0,
  );
}
