// A tree in preorder: a subtree is a range, so that sums over subtrees are differences of prefix sums.

import { countOf, type Flags, gatheredIndices, type Indices, positionsOf } from "./columns.ts";

export const ROOT_NAME = "_TFProfRoot";

/**
 * Places in preorder, the root first; the subtree of place `i` is `i` up to `end[i]`, its own graph nodes are
 * `rows.subarray(rowStart[i], rowStart[i + 1])`. `nameRank` has the order of the names.
 */
export class Tree {
  #ends: Indices | undefined;
  #depths: Indices | undefined;
  #singles: Indices | undefined;
  #rowCounts: Indices | undefined;

  /** `origin` has the places of these places in the tree that this one was contracted from. */
  constructor(
    readonly names: readonly string[],
    readonly parent: Indices,
    readonly rows: Indices,
    readonly rowStart: Indices,
    readonly nameRank: Indices,
    readonly origin?: Indices,
  ) {}

  get size(): number {
    return this.names.length;
  }

  /** Where the subtree of each place ends. */
  get end(): Indices {
    this.#ends ??= subtreeEnd(this.parent);
    return this.#ends;
  }

  /** The number of places above each place. */
  get depth(): Indices {
    this.#depths ??= depths(this.parent);
    return this.#depths;
  }

  /** How many graph nodes each place has itself. */
  get rowCount(): Indices {
    this.#rowCounts ??= this.rowStart.subarray(1).map((end, place) => end - (this.rowStart[place] as number));
    return this.#rowCounts;
  }

  /** The graph node of each place that has exactly one, else -1 (scope and graph view). */
  get single(): Indices {
    this.#singles ??= this.rowCount.map((count, place) =>
      count === 1 ? (this.rows[this.rowStart[place] as number] as number) : -1,
    );
    return this.#singles;
  }

  /**
   * The tree of the kept places and counted rows; what was below a dropped place goes to the next above it.
   * The root has to be kept, and the rows of dropped places must not be counted.
   */
  contracted(kept: Flags, counted: Flags): Tree {
    if (countOf(kept) === kept.length && countOf(counted) === counted.length) return this;
    const places = positionsOf(kept);
    const { rows, rowStart } = this.#countedRows(places, counted);
    return new Tree(
      Array.from(places, (place) => this.names[place] as string),
      gatheredIndices(this.#keptAbove(kept), places),
      rows,
      rowStart,
      gatheredIndices(this.nameRank, places),
      places,
    );
  }

  /** The next kept place above each place, by its position among the kept ones. */
  #keptAbove(kept: Flags): Indices {
    const above = new Int32Array(this.size).fill(-1);
    const position = new Int32Array(this.size);
    for (let place = 0, count = 0; place < this.size; place++) {
      const parent = this.parent[place] as number;
      if (parent >= 0) above[place] = (kept[parent] ? position[parent] : above[parent]) as number;
      if (kept[place]) position[place] = count++;
    }
    return above;
  }

  #countedRows(places: Indices, counted: Flags): { rows: Indices; rowStart: Indices } {
    const rows = new Int32Array(countOf(counted));
    const rowStart = new Int32Array(places.length + 1);
    let count = 0;
    for (let i = 0; i < places.length; i++) {
      const place = places[i] as number;
      const last = this.rowStart[place + 1] as number;
      for (let row = this.rowStart[place] as number; row < last; row++) {
        if (counted[row]) rows[count++] = this.rows[row] as number;
      }
      rowStart[i + 1] = count;
    }
    return { rows, rowStart };
  }
}

function subtreeEnd(parent: Indices): Indices {
  const end = new Int32Array(parent.length);
  for (let place = 0; place < end.length; place++) end[place] = place + 1;
  for (let place = end.length - 1; place > 0; place--) {
    const above = parent[place] as number;
    if ((end[place] as number) > (end[above] as number)) end[above] = end[place] as number;
  }
  return end;
}

function depths(parent: Indices): Indices {
  const depth = new Int32Array(parent.length);
  for (let place = 1; place < depth.length; place++) {
    depth[place] = (depth[parent[place] as number] as number) + 1;
  }
  return depth;
}
