// What the picture of the graph shows: which boxes are open, what they are filled by, where the keys are, what is in sight.

import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Box, type GraphBoxes, graphBoxes } from "../analysis/graph_boxes.ts";
import { outputBytes } from "../analysis/graph_edges.ts";
import { GraphScenes, type Scene, type SceneBox, sumOver } from "../analysis/graph_scene.ts";
import { FILL_MEASURES, type Fill, type GraphLook } from "../analysis/graph_words.ts";
import { nodesFound } from "../analysis/selected.ts";
import { ProfileError } from "../data/options.ts";
import { cacheOf, type Profile } from "../data/profile.ts";
import { PASSES } from "../data/protocol.ts";
import type { Numbers } from "../engine/columns.ts";
import { type Measures, measures } from "../engine/measures.ts";
import { selectedNodes, stepsShown } from "./selection.ts";
import type { Store } from "./store.ts";
import { type WhatIf, whatIfOf } from "./what_if.ts";

/** What of the picture is in sight: its point at the upper left, and how large it is drawn. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

const WIDE = { width: 1000, height: 560 };
const NARROW = { width: 420, height: 720 };
const LAYERS = ["layer", "group", "repeat"];

/** The state of a store's picture of its graph, which outlasts a look at another tab. */
export function graphPictureOf(store: Store): GraphPicture {
  return store.kept("graph picture", () => new GraphPicture(store));
}

/** A picture's state. */
export class GraphPicture {
  readonly fill: Signal<Fill> = signal("time");
  readonly isNarrow = signal(false);
  /** The keys of the boxes that are open, of the box that the arrow keys are at, and of the one that is pointed at. */
  readonly open: Signal<ReadonlySet<string>> = signal(new Set<string>());
  readonly cursorKey = signal("");
  readonly hoveredKey = signal("");
  /** Null until it was fitted to the screen. */
  readonly camera: Signal<Camera | null> = signal(null);
  readonly boxes: ReadonlySignal<GraphBoxes>;
  readonly scene: ReadonlySignal<Scene>;
  readonly look: ReadonlySignal<GraphLook>;
  /** The place of the box that the arrow keys are at, -1 for none. */
  readonly cursor: ReadonlySignal<number>;
  /** The nodes that are searched for, in the order of their names. */
  readonly matches: ReadonlySignal<readonly number[]>;
  readonly whatIf: WhatIf;
  readonly #measures: ReadonlySignal<Measures | null>;
  readonly #names = new WeakMap<Box, string>();
  #match = -1;

  constructor(readonly store: Store) {
    this.boxes = computed(() => graphBoxes(store.shown.profile));
    const scenes = computed(() => new GraphScenes(this.boxes.value, this.isNarrow.value ? NARROW : WIDE));
    this.scene = computed(() => {
      const open = this.open.value;
      return scenes.value.scene((box) => open.has(box.key));
    });
    const steps = stepsShown(store);
    this.#measures = computed(() => {
      void steps.value;
      return measuresOf(store);
    });
    const found = computed(() => nodesFound(store.shown.profile.nodes, store.search.value));
    this.matches = computed(() =>
      Array.from(found.value ?? [], (flag, node) => (flag ? node : -1)).filter((node) => node >= 0),
    );
    this.cursor = computed(() => this.placeOf(this.cursorKey.value));
    const still = computed(() => this.#costs());
    const selected = selectedNodes(store);
    const marked = computed(() => this.#selected(selected.value));
    const places = computed(() => {
      const flags = found.value;
      return flags && this.scene.value.boxes.map(({ box }) => box.nodes.some((node) => flags[node]));
    });
    this.look = computed(() => ({
      ...still.value,
      selected: marked.value,
      found: places.value,
      cursor: this.cursor.value,
      hovered: this.placeOf(this.hoveredKey.value),
    }));
    // The names of layers may be those of scopes as well.
    const areLayers = computed(() => {
      const kind = this.scene.value.boxes[marked.value.indexOf(2)]?.box.kind ?? "";
      return LAYERS.includes(kind);
    });
    this.whatIf = whatIfOf(store, areLayers);
  }

  /** The place of a box in the picture by its key, -1 where it is not drawn. */
  placeOf(key: string): number {
    return key ? this.scene.value.boxes.findIndex(({ box }) => box.key === key) : -1;
  }

  /** Open a box, or close it with all in it; what is around it stays on the screen where it is. */
  toggle(at: number): void {
    const found = this.scene.peek().boxes[at];
    if (!found || !this.boxes.peek().opens(found.box)) return;
    const open = new Set(this.open.peek());
    if (found.isOpen) for (const key of this.#keysIn(at)) open.delete(key);
    else open.add(found.box.key);
    batch(() => {
      this.cursorKey.value = found.box.key;
      this.#change(open, found);
    });
  }

  /** The keys of an open box and of all boxes in it. */
  #keysIn(at: number): readonly string[] {
    const { boxes } = this.scene.peek();
    const inside = new Set([at]);
    boxes.forEach(({ scope }, place) => {
      if (inside.has(scope)) inside.add(place);
    });
    return [...inside].map((place) => (boxes[place] as SceneBox).box.key);
  }

  /** Close all boxes. */
  closeAll(): void {
    batch(() => {
      this.open.value = new Set();
      this.camera.value = null;
    });
  }

  /** Open what hides a node, and go to its box. */
  reveal(node: number): void {
    const path = this.boxes.peek().pathTo(node);
    const last = path.at(-1);
    if (!last) return;
    const open = new Set([...this.open.peek(), ...path.slice(0, -1).map(({ key }) => key)]);
    batch(() => {
      this.#change(open, this.scene.peek().boxes[this.placeOf(path[0]?.key ?? "")]);
      this.cursorKey.value = last.key;
    });
  }

  /** Go to the next node that is searched for, or the one before. */
  find(by: 1 | -1): void {
    const nodes = this.matches.peek();
    if (!nodes.length) return;
    this.#match = (this.#match + by + nodes.length) % nodes.length;
    this.reveal(nodes[this.#match] as number);
  }

  /** Select the rows that a box stands for. */
  select(at: number): void {
    const found = this.scene.peek().boxes[at];
    if (!found) return;
    batch(() => {
      this.cursorKey.value = found.box.key;
      this.store.selection.value = this.boxes.peek().namesOf(found.box);
    });
  }

  /** How many nodes are put aside. */
  get aside(): number {
    return this.boxes.value.isAside.reduce((sum, each) => sum + each, 0);
  }

  /** Draw other boxes open, so that one stays where it is on the screen. */
  #change(open: ReadonlySet<string>, fixed: SceneBox | undefined): void {
    this.open.value = open;
    const [camera, after] = [
      this.camera.peek(),
      fixed && this.scene.value.boxes[this.placeOf(fixed.box.key)],
    ];
    if (!camera || !fixed || !after) return;
    const right = after.x + after.width / 2 - fixed.x - fixed.width / 2;
    this.camera.value = { ...camera, x: camera.x + right, y: camera.y + after.y - fixed.y };
  }

  /** What the boxes and edges of the picture cost. */
  #costs(): Omit<GraphLook, "selected" | "found" | "cursor" | "hovered"> {
    const { profile } = this.store.shown;
    const { boxes, edges } = this.scene.value;
    const [fill, found, graph] = [this.fill.value, this.#measures.value, this.boxes.value];
    const none = new Float64Array(profile.nodes.op.length);
    const measure = FILL_MEASURES[fill];
    const [column, unit] = [found?.column(measure) ?? none, found?.unit(measure) ?? 1];
    const micros = found?.column("micros") ?? none;
    const cache = cacheOf(profile);
    const passes = cache.recent(`passes ${stepsShown(this.store).value}`, () =>
      PASSES.map((_, pass) => micros.map((value, node) => (graph.role[node] === pass ? value : 0))),
    );
    const bytes = cache.recent(`output bytes ${stepsShown(this.store).value}`, () =>
      found ? outputBytes(profile, found) : none,
    );
    return {
      fill,
      values: boxes.map(({ box }) => sumOver(box, column) / unit),
      whole: sumOver(graph.whole, column) / unit,
      passes: boxes.map(({ box }) =>
        box.kind === "layer" || box.kind === "group" || box.kind === "repeat"
          ? passes.map((each) => sumOver(box, each))
          : [],
      ),
      bytes: edges.map(({ sources }) => sources.reduce((sum, node) => sum + (bytes[node] as number), 0)),
      critical: criticalOf(profile, this.scene.value, micros, found?.unit("micros") ?? 1),
      opens: boxes.map(({ box }) => graph.opens(box)),
    };
  }

  /** For each box 2 if it is selected itself, 1 if something in it is and it is closed. */
  #selected(flags: Uint8Array | null): readonly number[] {
    const { boxes } = this.scene.value;
    if (!flags) return boxes.map(() => 0);
    const chosen = [...this.store.selection.value].sort().join("\n");
    return boxes.map(({ box, isOpen }) => {
      if (!box.nodes.some((node) => flags[node])) return 0;
      if (this.#namesOf(box) === chosen) return 2;
      return isOpen ? 0 : 1;
    });
  }

  #namesOf(box: Box): string {
    const known = this.#names.get(box) ?? [...this.boxes.peek().namesOf(box)].sort().join("\n");
    this.#names.set(box, known);
    return known;
  }
}

/** What each node takes in the steps that are shown; null where the options or the figures do not allow to tell. */
function measuresOf(store: Store): Measures | null {
  try {
    return measures(store.shown.profile, store.options.value);
  } catch (error) {
    if (error instanceof ProfileError || error instanceof Error) return null;
    throw error;
  }
}

/** How far each box is on the critical path, by what Python found; null where it found none. */
function criticalOf(
  { late }: Profile,
  { boxes, edges }: Scene,
  micros: Numbers,
  unit: number,
): GraphLook["critical"] {
  const [onPath, slack, steps] = ["on_path", "slack_micros", "steps"].map(
    (name) => late?.(`critical.${name}`, "numbers", true) as Numbers | undefined,
  );
  if (!onPath || !slack || !steps) return null;
  const count = steps[0] || 1;
  const times = boxes.map(({ box }) =>
    box.nodes.reduce((sum, node) => sum + ((micros[node] as number) * (onPath[node] as number)) / count, 0),
  );
  return {
    micros: times.map((time) => time / unit),
    onPath: boxes.map(({ box }, at) => {
      const whole = sumOver(box, micros);
      if (!whole) return box.nodes.some((node) => onPath[node]) ? 1 : 0;
      return (times[at] as number) / whole;
    }),
    slack: boxes.map(({ box }) => {
      const known = box.nodes.filter((node) => (slack[node] as number) >= 0);
      return known.reduce(
        (least, node) => Math.min(least, slack[node] as number),
        known.length ? Infinity : 0,
      );
    }),
    edges: edges.map(({ sources }) => sources.some((node) => (onPath[node] as number) > 0)),
  };
}
