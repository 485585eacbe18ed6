// What the timeline shows: layout, visible time, the slices chosen and highlighted, the colours of lanes.

import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { wholeLayout } from "../../analysis/cell_lanes.ts";
import { rowsOnPath, slackOf } from "../../analysis/critical_path.ts";
import { flowsOf } from "../../analysis/flows.ts";
import { type DeviceUse, isContext, type Lane, type Track, useOf } from "../../analysis/lanes.ts";
import { nodesFound } from "../../analysis/selected.ts";
import { type PaintedLane, paintedLanes, RECEDING, type Viewport } from "../../analysis/spans.ts";
import {
  type Layout,
  laidDeviceLabel,
  layoutOf,
  type Slices,
  slicesOf,
} from "../../analysis/timeline_layout.ts";
import { cellOf } from "../../data/cell.ts";
import type { Profile } from "../../data/profile.ts";
import { layerColumns, ROLES } from "../../engine/layers.ts";
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
  /** Whether it is known when the steps were in the cell, and whether they lie there instead of one after another. */
  readonly hasCell: ReadonlySignal<boolean>;
  readonly isWholeCell: ReadonlySignal<boolean>;
  /** What the user wants of it; without, several steps lie in the cell, and a single one lies alone. */
  readonly wantsCell: Signal<boolean | null> = signal(null);
  /** Whether there are roles to colour slices by, and whether they are coloured by what their op types do instead. */
  readonly hasRoles: ReadonlySignal<boolean>;
  readonly isByType: Signal<boolean> = signal(false);
  readonly rows: ReadonlySignal<readonly LaneRow[]>;
  readonly lanes: ReadonlySignal<readonly Lane[]>;
  /** The nodes that are searched for or selected, null if there is neither. */
  readonly highlighted: ReadonlySignal<Uint8Array | null>;
  readonly painted: ReadonlySignal<readonly PaintedLane[]>;
  /** The steps one after another without what is above the devices, coloured by op type, as beside a table. */
  readonly small: ReadonlySignal<{ readonly layout: Layout; readonly painted: readonly PaintedLane[] }>;
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
  /** How much later each execution could end, null where that is not known; and the slices of the critical path. */
  readonly slack: ReadonlySignal<Int32Array | null>;
  readonly path: ReadonlySignal<readonly SlicePosition[]>;
  /** Whether the path is drawn, and what has slack recedes. */
  readonly showsPath: Signal<boolean> = signal(false);
  /** Whether the pointer is marking the range now. */
  readonly isMarking: Signal<boolean> = signal(false);
  /** The arrows to and from the chosen slice, each from a slice to a slice. */
  readonly arrows: ReadonlySignal<
    readonly { readonly source: SlicePosition; readonly target: SlicePosition }[]
  >;

  #settled: Layout;

  constructor(readonly store: Store) {
    this.profile = computed(() => store.shown.profile);
    const steps = stepsShown(store);
    this.slices = computed(() => slicesOf(this.profile.value));
    this.hasCell = computed(() => {
      const cells = cellOf(this.profile.value);
      const isKnown = (step: number) => (cells?.stepStart[step] ?? -1) >= 0;
      return cells?.workers.length === 1 && stepsOf(steps.value).every(isKnown);
    });
    this.isWholeCell = computed(
      () => this.hasCell.value && (this.wantsCell.value ?? stepsOf(steps.value).length > 1),
    );
    this.layout = computed(() =>
      wholeLayout(this.profile.value, stepsOf(steps.value), this.isWholeCell.value),
    );
    const roles = computed(() => layerColumns(this.profile.value).role);
    this.hasRoles = computed(() => roles.value.some((role) => role !== ROLES.indexOf("forward")));
    this.rows = computed(() => rowsOf(this.layout.value));
    this.lanes = computed(() => this.layout.value.tracks.flatMap(({ lanes }) => lanes));
    const selected = selectedNodes(store);
    const found = computed(() => nodesFound(this.profile.value.nodes, store.search.value));
    this.highlighted = computed(() => either(found.value, selected.value));
    this.slack = computed(() => slackOf(this.profile.value));
    this.painted = computed(() =>
      paintedLanes(
        this.profile.value,
        this.slices.value,
        this.layout.value,
        this.highlighted.value,
        this.hasRoles.value && !this.isByType.value ? roles.value : null,
        this.showsPath.value ? this.slack.value : null,
      ),
    );
    this.small = computed(() => {
      const [profile, slices, highlighted] = [this.profile.value, this.slices.value, this.highlighted.value];
      const layout = layoutOf(profile, stepsOf(steps.value));
      return { layout, painted: paintedLanes(profile, slices, layout, highlighted) };
    });
    const positions = computed(() => positionsOf(this.lanes.value, this.slices.value.node.length));
    const at = (row: number) => ({
      lane: positions.value.lane[row] as number,
      slice: positions.value.slice[row] as number,
    });
    this.path = computed(() =>
      rowsOnPath(this.profile.value, this.slack.value, this.layout.value.start)
        .map(at)
        .filter(({ lane }) => lane >= 0),
    );
    this.arrows = computed(() => {
      const row = this.current.value ? this.executionAt(this.current.value) : -1;
      if (row < 0) return [];
      return flowsOf(this.profile.value, this.slices.value, this.layout.value, row)
        .map(({ source, target }) => ({ source: at(source), target: at(target) }))
        .filter(({ source, target }) => source.lane >= 0 && target.lane >= 0);
    });
    this.uses = computed(() => this.usesOf(fitted(this.layout.value.end)));
    this.highlightedSlices = computed(() =>
      this.highlighted.value ? highlightedIn(this.painted.value) : null,
    );
    this.#settled = this.layout.value;
    this.visibleTime = signal(fitted(this.#settled.end));
    effect(() => {
      const layout = this.isWholeCell.value
        ? this.#settled
        : layoutOf(this.profile.value, stepsOf(steps.value));
      timeInSight(store).value = { ...this.visibleTime.value, layout };
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
    return tracks.filter((track) => !isContext(track)).map((track) => useOf(track, steps, from, to));
  }

  /** What the device of a track did in all of the layout; undefined for what stands above the devices. */
  useOfTrack(track: number): DeviceUse | undefined {
    const above = this.layout.value.tracks.filter(isContext).length;
    return this.uses.value[track - above];
  }

  /** The row of the slices that a slice shows: of an execution, or of a transfer; -1 above the devices. */
  executionAt({ lane, slice }: SlicePosition): number {
    const found = this.lanes.value[lane];
    return found?.context ? -1 : (found?.execution[slice] ?? -1);
  }

  /** The row of the transfers that a slice shows; -1 where it shows an execution. */
  transferAt(place: SlicePosition): number {
    return Math.max(this.executionAt(place) - this.slices.value.firstTransfer, -1);
  }

  /** The name of the node that a slice shows, of the tensor that was moved, or of what stands above the devices. */
  nameAt(place: SlicePosition): string {
    const { context, execution } = this.lanes.value[place.lane] ?? {};
    if (context) return context.name(execution?.[place.slice] ?? 0);
    const { tensor, tensors } = this.profile.value.transfers;
    const moved = this.transferAt(place);
    return moved < 0 ? this.nodeAt(place) : (tensors[tensor[moved] as number] as string);
  }

  /** The name of the node that a slice shows, or that made what was moved; empty where it is not known. */
  nodeAt(place: SlicePosition): string {
    return this.nodeOf(this.executionAt(place));
  }

  /** The name of the node that a row of the slices is of; empty where it is not known. */
  nodeOf(row: number): string {
    return this.profile.value.nodes.names[this.slices.value.node[row] ?? -1] ?? "";
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
    const painted = this.painted.value[lane];
    return !painted?.lane.context && (painted?.colour[slice] ?? RECEDING) < RECEDING;
  }

  /** From when to when a slice ran. */
  spanOf(place: SlicePosition): Viewport {
    const lanes = this.lanes.value;
    return { from: startOf(lanes, place), to: endOf(lanes, place) };
  }
}

/** The lane and slice of each row of the slices, -1 where it has none. */
function positionsOf(lanes: readonly Lane[], rows: number) {
  const [lane, slice] = [new Int32Array(rows).fill(-1), new Int32Array(rows)];
  lanes.forEach(({ context, execution }, number) => {
    if (context) return;
    for (let at = 0; at < execution.length; at++) {
      lane[execution[at] as number] = number;
      slice[execution[at] as number] = at;
    }
  });
  return { lane, slice };
}

function highlightedIn(painted: readonly PaintedLane[]): number {
  let count = 0;
  for (const { lane, colour } of painted)
    if (!lane.context) for (const each of colour) if (each < RECEDING) count += 1;
  return count;
}

/** What is flagged in either; null if there are no flags at all. */
export function either(one: Uint8Array | null, other: Uint8Array | null): Uint8Array | null {
  if (!one || !other) return one ?? other;
  return one.map((flag, node) => flag | (other[node] as number));
}
