// What a what-if is about: the selection, the factor of its time, and the step that is predicted with it.

import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Prediction, type Replay, replayOf } from "../analysis/replay.ts";
import type { Profile } from "../data/profile.ts";
import { layerColumns } from "../engine/layers.ts";
import { flagLayers, nodesBehind, stepsOf, stepsShown } from "./selection.ts";
import type { Store } from "./store.ts";

/** Parts the op types of a node that stands for several. */
const FUSED = " + ";

/** A what-if on the selection of a store, which outlasts a look at another tab. */
export interface WhatIf {
  /** Per cent of the time that the selection takes; 100 after each change of it. */
  readonly percent: ReadonlySignal<number>;
  readonly set: (percent: number) => void;
  /** What the step would take; a text where that cannot be told. */
  readonly prediction: ReadonlySignal<Prediction | string>;
}

/** Make the what-if of a store; `areLayers` tells whether names are those of layers before they are those of scopes. */
export function whatIfOf(store: Store, areLayers: ReadonlySignal<boolean>): WhatIf {
  const percents: Signal<{ readonly of: readonly string[]; readonly percent: number }> = signal({
    of: [],
    percent: 100,
  });
  const percent = computed(() => {
    const { of, percent } = percents.value;
    return of === store.selection.value ? percent : 100;
  });
  const replay = computed(() => replayOf(store.shown.profile));
  const changed = computed(() => {
    const names = store.selection.value;
    const [{ profile }, found] = [store.shown, replay.value];
    if (typeof found === "string" || !names.length) return null;
    return changedNodes(profile, found, names, areLayers.value, stepsOf(stepsShown(store).value));
  });
  const prediction = computed(() => {
    const [found, flags] = [replay.value, changed.value];
    if (typeof found === "string") return found;
    if (!flags) return NOTHING_SELECTED;
    if (!found.ran(flags)) return NOTHING_RAN;
    const factor = percent.value / 100;
    return found.whatIf(Float64Array.from(flags, (flag) => (flag ? factor : 1)));
  });
  const set = (percent: number): void => {
    percents.value = { of: store.selection.peek(), percent };
  };
  return { percent, set, prediction };
}

const NOTHING_SELECTED =
  "Select a box: a slider tells how long a step would be if it took more or less time.";
const NOTHING_RAN = "Nothing of the selection ran in the recorded steps.";

/** The nodes that selected names are about, as the keys of Python's `what_if` are: with the kernels that stand for them. */
export function changedNodes(
  profile: Profile,
  replay: Replay,
  names: readonly string[],
  areLayers: boolean,
  steps: readonly number[] = [],
): Uint8Array {
  const { ops, op } = profile.nodes;
  const layers = new Set(areLayers ? layerColumns(profile).names : []);
  const others = names.filter((name) => !layers.has(name));
  const isChosen = ops.map((type) => type.split(FUSED).some((part) => others.includes(part)));
  const flags = Uint8Array.from(op, (type) => +(isChosen[type] as boolean));
  const behind = nodesBehind(profile, others, steps);
  // A kernel stands for the nodes in it where these are named, and not where their type or layer is.
  const named = flags.map((flag, node) => (flag ? 0 : (behind?.[node] ?? 0)));
  replay.flagFused(named);
  replay.flagRetyped(isChosen, flags);
  flagLayers(profile, new Set(names.filter((name) => layers.has(name))), flags);
  return flags.map((flag, node) => flag | (named[node] as number));
}
