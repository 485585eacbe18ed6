// What the timeline shows: layout, visible time, the slices chosen and highlighted, the colours of lanes.

import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type DeviceUse, type Lane, type Track, useOf } from "../../analysis/lanes.ts";
import { type PaintedLane, paintedLanes, RECEDING, type Viewport } from "../../analysis/spans.ts";
import {
  type Layout,
  laidDeviceLabel,
  layoutOf,
  type Slices,
  slicesOf,
} from "../../analysis/timeline_layout.ts";
import type { Nodes, Profile } from "../../data/profile.ts";
import { selectedNodes, stepsOf, stepsShown } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
import { timeInSight } from "../../state/time_in_sight.ts";
import { endOf, fitted, type LaneRow, rowsOf, type SlicePosition, startOf } from "./geometry.ts";

/** The state of a store's timeline, which outlasts a look at another tab. */
export function timelineStateOf(store: Store): TimelineState {
  return store.kept("timeline", () => new TimelineState(store));
}

/** A timeline's state; what is seen, pointed at, chosen and marked is forgotten with the layout it belongs to. */
export class TimelineState {
  readonly profile: ReadonlySignal<Profile>;
  readonly slices: ReadonlySignal<Slices>;
  readonly layout: ReadonlySignal<Layout>;
  readonly rows: ReadonlySignal<readonly LaneRow[]>;
  readonly lanes: ReadonlySignal<readonly Lane[]>;
  /** The nodes that are searched for or selected, null if there is neither. */
  readonly highlighted: ReadonlySignal<Uint8Array | null>;
  readonly painted: ReadonlySignal<readonly PaintedLane[]>;
  /** What each device did in all of the layout. */
  readonly uses: ReadonlySignal<readonly DeviceUse[]>;
  /** How many slices are searched for or selected, null if nothing is. */
  readonly highlightedSlices: ReadonlySignal<number | null>;
  readonly visibleTime: Signal<Viewport>;
  readonly hovered: Signal<SlicePosition | null> = signal(null);
  /** Where in the window the pointer is. */
  readonly pointed = signal({ x: 0, y: 0 });
  readonly current: Signal<SlicePosition | null> = signal(null);
  readonly range: Signal<Viewport | null> = signal(null);

  #settled: Layout;

  constructor(readonly store: Store) {
    this.profile = computed(() => store.shown.profile);
    const steps = stepsShown(store);
    this.slices = computed(() => slicesOf(this.profile.value));
    this.layout = computed(() => layoutOf(this.profile.value, stepsOf(steps.value)));
    this.rows = computed(() => rowsOf(this.layout.value));
    this.lanes = computed(() => this.layout.value.tracks.flatMap(({ lanes }) => lanes));
    const selected = selectedNodes(store);
    const found = computed(() => nodesFound(this.profile.value.nodes, store.search.value));
    this.highlighted = computed(() => either(found.value, selected.value));
    this.painted = computed(() =>
      paintedLanes(this.profile.value, this.slices.value, this.layout.value, this.highlighted.value),
    );
    this.uses = computed(() => this.usesOf(fitted(this.layout.value.end)));
    this.highlightedSlices = computed(() =>
      this.highlighted.value ? highlightedIn(this.painted.value) : null,
    );
    this.#settled = this.layout.value;
    this.visibleTime = signal(fitted(this.#settled.end));
    effect(() => {
      timeInSight(store).value = { ...this.visibleTime.value, layout: this.#settled };
    });
  }

  /** Look at the whole and forget what belonged to another layout, if there is another one. */
  settle(): void {
    if (this.#settled === this.layout.value) return;
    this.#settled = this.layout.value;
    this.visibleTime.value = fitted(this.layout.value.end);
    this.hovered.value = null;
    this.current.value = null;
    this.range.value = null;
  }

  /** What each device did in some time. */
  usesOf({ from, to }: Viewport): readonly DeviceUse[] {
    const { tracks, steps } = this.layout.value;
    return tracks.map((track) => useOf(track, steps, from, to));
  }

  /** The row of the slices that a slice shows: of an execution, or of a transfer. */
  executionAt({ lane, slice }: SlicePosition): number {
    return this.lanes.value[lane]?.execution[slice] ?? -1;
  }

  /** The row of the transfers that a slice shows; -1 where it shows an execution. */
  transferAt(place: SlicePosition): number {
    return Math.max(this.executionAt(place) - this.slices.value.firstTransfer, -1);
  }

  /** The name of the node that a slice shows, or of the tensor that was moved. */
  nameAt(place: SlicePosition): string {
    const { tensor, tensors } = this.profile.value.transfers;
    const moved = this.transferAt(place);
    return moved < 0 ? this.nodeAt(place) : (tensors[tensor[moved] as number] as string);
  }

  /** The name of the node that a slice shows, or that made what was moved; empty where it is not known. */
  nodeAt(place: SlicePosition): string {
    return this.profile.value.nodes.names[this.slices.value.node[this.executionAt(place)] ?? -1] ?? "";
  }

  /** The device's track that a lane belongs to. */
  trackOf(lane: number): Track | undefined {
    const row = this.rows.value.find((each) => each.lane === lane);
    return row && this.layout.value.tracks[row.track];
  }

  /** A device by the name that people say. */
  deviceName(device: number): string {
    return laidDeviceLabel(this.slices.value, device, this.profile.value.nodes.devices);
  }

  /** A step by its number and what ran in it. */
  stepLabel(step: number): string {
    const { steps, stepNames } = this.profile.value;
    return `step ${steps[step]} ${stepNames[step] ?? ""}`.trim();
  }

  /** Whether a slice is searched for or selected. */
  isHighlighted(lane: number, slice: number): boolean {
    return (this.painted.value[lane]?.colour[slice] ?? RECEDING) < RECEDING;
  }

  /** From when to when a slice ran. */
  spanOf(place: SlicePosition): Viewport {
    const lanes = this.lanes.value;
    return { from: startOf(lanes, place), to: endOf(lanes, place) };
  }
}

function highlightedIn(painted: readonly PaintedLane[]): number {
  let count = 0;
  for (const { colour } of painted) for (const each of colour) if (each < RECEDING) count += 1;
  return count;
}

/** A flag a node whose name or op type has the text in it, whatever the case; null if there is no text. */
export function nodesFound({ names, ops, op }: Nodes, text: string): Uint8Array | null {
  const sought = text.trim().toLowerCase();
  if (!sought) return null;
  const isSought = ops.map((each) => each.toLowerCase().includes(sought));
  return Uint8Array.from(names, (name, node) =>
    isSought[op[node] as number] || name.toLowerCase().includes(sought) ? 1 : 0,
  );
}

/** What is flagged in either; null if there are no flags at all. */
export function either(one: Uint8Array | null, other: Uint8Array | null): Uint8Array | null {
  if (!one || !other) return one ?? other;
  return one.map((flag, node) => flag | (other[node] as number));
}
