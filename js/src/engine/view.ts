// The result of an evaluation: the rows that are shown, as columns that are made when asked for.

import type { Profile } from "../data/profile.ts";
import type { Options, Timing, ViewName } from "../data/protocol.ts";
import { type Forest, rowWeights } from "./account.ts";
import {
  type Flags,
  gatheredFlags,
  gatheredIndices,
  gatheredNumbers,
  type Indices,
  type Numbers,
} from "./columns.ts";
import type { Summed } from "./measures.ts";
import type { Sums } from "./sums.ts";

/** How a view sums: the totals of its rows, and of the whole, in each measure. */
export interface Totals {
  total(measure: Summed): Numbers;
  grandTotal(measure: Summed): number;
  /** How many graph nodes the total of each row counts. */
  definitions(): Numbers;
  /** How many accounted places below each row are not shown. */
  hidden(): Numbers;
}

/** What a view is made from: `parent` has the row above each row, -1 for none. */
interface Shown {
  readonly profile: Profile;
  readonly kind: ViewName;
  readonly options: Options;
  readonly sums: Sums;
  readonly places: Indices;
  readonly parent: () => Indices;
  readonly totals: Totals;
}

/**
 * The shown rows in order, as columns; each is made when it is first asked for. Values are whole numbers; divide
 * them by `unit(measure)` to get microseconds, bytes, runs, ...
 */
export class View {
  readonly profile: Profile;
  readonly kind: ViewName;
  readonly options: Options;
  readonly sums: Sums;
  /** The places of the rows in the tree of `forest`. */
  readonly places: Indices;
  readonly #made = new Map<string, unknown>();

  constructor(private readonly shown: Shown) {
    this.profile = shown.profile;
    this.kind = shown.kind;
    this.options = shown.options;
    this.sums = shown.sums;
    this.places = shown.places;
  }

  /** The number of rows; in the views that are trees the first is the root's. */
  get rows(): number {
    return this.places.length;
  }

  /** The number of rows without the root's. */
  get kept(): number {
    return this.rows - (this.kind === "op" ? 0 : 1);
  }

  /** How many rows there would be if nothing that is accounted were left out. */
  get of(): number {
    return this.forest.tree.size - 1;
  }

  get forest(): Forest {
    return this.sums.forest;
  }

  name(row: number): string {
    return this.forest.tree.names[this.places[row] as number] as string;
  }

  /** The row above each row, -1 for none. */
  get parent(): Indices {
    return this.#once("parent", this.shown.parent);
  }

  /** The number of rows above each row. */
  get depth(): Indices {
    return this.#once("depth", () => {
      const depth = new Int32Array(this.rows);
      for (let row = 0; row < depth.length; row++) {
        const above = this.parent[row] as number;
        if (above >= 0) depth[row] = (depth[above] as number) + 1;
      }
      return depth;
    });
  }

  /** The graph node of each row of scope and graph view, -1 for a row that stands for none or for several. */
  get node(): Indices {
    return this.#once("node", () => gatheredIndices(this.forest.tree.single, this.places));
  }

  /** Whether a row counts itself, or is there only for the sake of what is below it. */
  get accounted(): Flags {
    return this.#once("accounted", () => gatheredFlags(this.forest.accounted, this.places));
  }

  /** How many graph nodes each row has itself. */
  get memberCount(): Indices {
    return this.#once("memberCount", () => gatheredIndices(this.forest.tree.rowCount, this.places));
  }

  /** How many graph nodes each row and what is below it has. */
  get nodeCount(): Indices {
    return this.#once("nodeCount", () => {
      const { rowStart, end } = this.forest.tree;
      return this.places.map(
        (place) => (rowStart[end[place] as number] as number) - (rowStart[place] as number),
      );
    });
  }

  /** The graph nodes that a row itself counts, in the order of their names. */
  membersOf(row: number): Indices {
    const { rows, rowStart } = this.forest.tree;
    const place = this.places[row] as number;
    return rows.slice(rowStart[place], rowStart[place + 1]).sort();
  }

  /** A measure of each row itself. */
  own(measure: Summed): Numbers {
    return this.#once(`own ${measure}`, () => gatheredNumbers(this.sums.own(measure), this.places));
  }

  /** A measure of each row and what is below it; in op view, after it. */
  total(measure: Summed): Numbers {
    return this.#once(`total ${measure}`, () => this.shown.totals.total(measure));
  }

  /** The total of the whole, which is the root's. */
  grandTotal(measure: Summed): number {
    return this.shown.totals.grandTotal(measure);
  }

  /** A measure of all that is accounted, also of what the tree of a code or graph view has no place for. */
  all(measure: Summed): number {
    return this.#once(`all ${measure}`, () => {
      const { kind, profile, options, sums } = this;
      if (kind !== "code" && kind !== "graph") return sums.total(measure)[0] as number;
      const weights = rowWeights(profile, options);
      const most = kind === "graph" ? 1 : Infinity;
      return sums.measures
        .column(measure)
        .reduce((sum, value, node) => sum + value * Math.min(weights[node] as number, most), 0);
    });
  }

  /** How many graph nodes the total of each row counts. */
  get definitions(): Numbers {
    return this.#once("definitions", () => this.shown.totals.definitions());
  }

  /** How many accounted places below each row are not shown. */
  get hidden(): Numbers {
    return this.#once("hidden", () => this.shown.totals.hidden());
  }

  /** How many units of a measure's column make one microsecond, byte, run, ... */
  unit(measure: Summed): number {
    return this.sums.measures.unit(measure);
  }

  #once<Found>(key: string, make: () => Found): Found {
    if (!this.#made.has(key)) this.#made.set(key, make());
    return this.#made.get(key) as Found;
  }
}

/**
 * The shape of each input of a node by index, undefined where it is not known. Native tfprof takes every input for
 * the first output of its source; with the native clock so do we.
 */
export function inputShapes(profile: Profile, node: number, timing: Timing): (string | undefined)[] {
  const { inputs, inputPorts, outputShapes, shapes } = profile.nodes;
  const found: (string | undefined)[] = [];
  for (let i = inputs.start[node] as number; i < (inputs.start[node + 1] as number); i++) {
    const source = inputs.values[i] as number;
    const port = timing === "tfprof" ? 0 : Math.max(inputPorts[i] as number, 0);
    const first = outputShapes.start[source] as number;
    const isKnown = source >= 0 && first + port < (outputShapes.start[source + 1] as number);
    found.push(isKnown ? shapes[outputShapes.values[first + port] as number] : undefined);
  }
  return found;
}
