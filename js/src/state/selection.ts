// What a selection means: the graph nodes behind the selected names, what a click does to it, and which steps are shown.

import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Profile } from "../data/profile.ts";
import { engineOf } from "../engine/evaluate.ts";
import { layerColumns } from "../engine/layers.ts";
import { NotLoaded } from "../engine/matching.ts";
import { compareNames } from "../engine/order.ts";
import { chosenSteps } from "../engine/steps.ts";
import { ROOT_NAME } from "../engine/tree.ts";
import type { Store } from "./store.ts";

const FRAME = /:\d+:/;

/** A flag a graph node of the shown graph that is behind the selection, null where nothing is selected. */
export function selectedNodes(store: Store): ReadonlySignal<Uint8Array | null> {
  return store.kept("selected nodes", () =>
    computed(() => {
      const { profile } = store.shown;
      const names = store.selection.value;
      try {
        return nodesBehind(profile, names, stepsOf(stepsShown(store).value));
      } catch (error) {
        if (!(error instanceof NotLoaded)) throw error;
        // Of frames it needs the code view; that comes after the first paint.
        void store.host.panels.arrived.value;
        return null;
      }
    }),
  );
}

/**
 * A flag a graph node that is behind one of the names: the node itself, those of a scope, of an op type, or of a frame
 * in some steps; and those of a layer, where no scope has its name.
 */
export function nodesBehind(
  profile: Profile,
  names: readonly string[],
  steps: readonly number[] = [],
): Uint8Array | null {
  if (!names.length) return null;
  const { nodes } = profile;
  const flags = new Uint8Array(nodes.names.length);
  if (names.includes(ROOT_NAME)) return flags.fill(1);
  const others = names.filter((name) => {
    const node = firstFrom(nodes.names, name);
    const isNode = nodes.names[node] === name;
    if (isNode) flags[node] = 1;
    const scope = `${name}/`;
    const first = firstFrom(nodes.names, scope);
    let last = first;
    while (nodes.names[last]?.startsWith(scope)) flags[last++] = 1;
    return !isNode && last === first;
  });
  flagTypes(profile, new Set(names), flags);
  flagLayers(profile, new Set(others), flags);
  const frames = names.filter((name) => FRAME.test(name));
  if (frames.length) engineOf("code").flag?.(profile, steps, new Set(frames), flags);
  return flags;
}

/** The first node whose name is not before this one. */
function firstFrom(sorted: readonly string[], name: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareNames(sorted[middle] as string, name) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function flagTypes({ nodes }: Profile, names: ReadonlySet<string>, flags: Uint8Array): void {
  const isChosen = nodes.ops.map((op) => names.has(op));
  if (!isChosen.includes(true)) return;
  for (let node = 0; node < flags.length; node++) if (isChosen[nodes.op[node] as number]) flags[node] = 1;
}

/** The nodes of layers of these names, with those of the layers in them. */
export function flagLayers(profile: Profile, names: ReadonlySet<string>, flags: Uint8Array): void {
  const { names: layers, parent, layer } = layerColumns(profile);
  if (!layers.some((name) => names.has(name))) return;
  const isChosen = new Uint8Array(layers.length);
  layers.forEach((name, place) => {
    isChosen[place] = names.has(name) || isChosen[parent[place] as number] ? 1 : 0;
  });
  for (let node = 0; node < flags.length; node++) if (isChosen[layer[node] as number]) flags[node] = 1;
}

/** The selection after a click on a name: it alone, or with what was selected; a second click takes it back. */
export function selectionAfter(selection: readonly string[], name: string, adds: boolean): readonly string[] {
  const isSelected = selection.includes(name);
  if (adds) return isSelected ? selection.filter((each) => each !== name) : [...selection, name];
  return isSelected && selection.length === 1 ? [] : [name];
}

/** The indices of the steps that the options choose, separated by commas; as in the tables, the last that there were. */
export function stepsShown(store: Store): ReadonlySignal<string> {
  return store.kept("steps shown", () => {
    const good = new Map<Profile, string>();
    return computed(() => {
      const { profile } = store.shown;
      try {
        good.set(profile, chosenSteps(profile, store.options.value).join());
      } catch {
        // The control of the option says what is wrong with it.
      }
      return good.get(profile) ?? [...profile.steps.keys()].join();
    });
  });
}

/** What is shown where no single step is. */
export function meanOf(count: number): string {
  return count === 1 ? "one traced step" : `mean of ${count.toLocaleString("en")} steps`;
}

/** The indices that `stepsShown` writes. */
export function stepsOf(written: string): readonly number[] {
  return written ? written.split(",").map(Number) : [];
}

/** How the code tab is read: as tfprof's tree of frames, or as the user's own lines. */
type CodeReading = "tree" | "source";

/** How the code tab of a widget is read. */
export function codeReading(store: Store): Signal<CodeReading> {
  return store.kept("code reading", () => signal<CodeReading>("tree"));
}

/** Go to a line in the source, by the names of its rows in the code view. */
export function showLine(store: Store, names: readonly string[]): void {
  batch(() => {
    store.selection.value = names;
    codeReading(store).value = "source";
    store.tab.value = "code";
  });
}
