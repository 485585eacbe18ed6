// What the reader does to the trees of one widget: folds, zooms, the row the keys act on, the search.

import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Flags, Indices } from "../engine/columns.ts";
import type { View } from "../engine/view.ts";
import {
  FOLDED,
  type FoldState,
  type Listing,
  lastingPlace,
  listingOf,
  marked,
  matchingPlaces,
  matchingRows,
  nextMatch,
  type Rule,
  rowOf,
  TELLING,
  UNFOLDED,
} from "./listing.ts";
import { selectionAfter } from "./selection.ts";
import type { Store } from "./store.ts";

const NO_WIDTHS: Readonly<Record<string, number>> = {};

/** The trees of a store. */
export class TableState {
  readonly listing: ReadonlySignal<Listing | null>;
  /** The row the keys act on, by its lasting place. */
  readonly active = signal(-1);
  /** Counts how often the active row was to be brought into sight. */
  readonly reveals = signal(0);
  /** Whether each place matches the search, undefined where nothing is searched. */
  readonly matching: ReadonlySignal<Flags | undefined>;
  /** The rows that match, and the place among them of the active one, -1 if it is none. */
  readonly matches: ReadonlySignal<Indices>;
  readonly match: ReadonlySignal<number>;
  readonly #readings: Signal<ReadonlyMap<string, FoldState>> = signal(new Map());
  #anchor = -1;
  /** What was selected last in the table itself. */
  #chosen: readonly string[] = [];

  constructor(readonly store: Store) {
    this.listing = computed(() => {
      const { view } = store.evaluation.value;
      return view && listingOf(view, this.reading(view));
    });
    const tree = computed(() => this.listing.value?.view.forest.tree);
    this.matching = computed(() => {
      const text = store.search.value.trim();
      return tree.value && text ? matchingPlaces(tree.value, text) : undefined;
    });
    this.matches = computed(() => {
      const [listing, matching] = [this.listing.value, this.matching.value];
      return listing && matching ? matchingRows(listing.view.places, matching) : new Int32Array(0);
    });
    this.match = computed(() => {
      const listing = this.listing.value;
      return listing && this.active.value >= 0
        ? this.matches.value.indexOf(rowOf(listing.view, this.active.value))
        : -1;
    });
  }

  /** How the tree of a view is folded and zoomed. */
  reading(view: View): FoldState {
    const { size, origin } = view.forest.tree;
    const fresh = { rule: TELLING, zoom: 0, isMerging: true };
    return (
      this.#readings.value.get(this.#key(view)) ?? {
        ...fresh,
        marks: new Uint8Array((origin?.at(-1) ?? size) + 1),
      }
    );
  }

  /** The widths in pixels that the reader gave columns of a view, by their keys. */
  widths({ view }: Listing): Readonly<Record<string, number>> {
    return this.store.columnWidths.value[view.kind] ?? NO_WIDTHS;
  }

  /** Give a column a width, or with null its usual one. */
  widen({ view }: Listing, column: string, width: number | null): void {
    const { [column]: _, ...others } = this.store.columnWidths.value[view.kind] ?? NO_WIDTHS;
    const widths = width === null ? others : { ...others, [column]: Math.round(width) };
    this.store.columnWidths.value = { ...this.store.columnWidths.value, [view.kind]: widths };
  }

  /** Fold or unfold one row. */
  fold({ view }: Listing, row: number, isFolded: boolean): void {
    const { marks } = this.reading(view);
    this.#read(view, { marks: marked(marks, [lastingPlace(view, row)], isFolded ? FOLDED : UNFOLDED) });
  }

  /** Fold all rows by a rule, whatever was done to them by hand. */
  foldBy({ view }: Listing, rule: Rule): void {
    this.#read(view, { rule, marks: new Uint8Array(this.reading(view).marks.length) });
  }

  /** Show the subtree of a row alone; of the root or none, all. */
  zoom(listing: Listing, row: number): void {
    const { view, outline } = listing;
    if (row > 0 && !outline.isParent[row]) return;
    batch(() => {
      if (row > 0) this.fold(listing, row, false);
      this.#read(view, { zoom: row > 0 ? lastingPlace(view, row) : 0 });
      if (row >= 0) this.active.value = lastingPlace(view, row);
      this.reveals.value++;
    });
  }

  /** Show library frames one by one, or merged into one row. */
  merge({ view }: Listing, isMerging: boolean): void {
    this.#read(view, { isMerging });
  }

  /** Let the keys act on this row, and bring it into sight. */
  goTo({ view }: Listing, row: number): void {
    batch(() => {
      this.active.value = lastingPlace(view, row);
      this.reveals.value++;
    });
  }

  /** Select a row alone, or with `add` besides what is selected, or with `extend` all rows from the one selected last. */
  select({ view, seen }: Listing, row: number, { add = false, extend = false } = {}): void {
    const { selection } = this.store;
    const anchor = seen.indexOf(rowOf(view, this.#anchor));
    this.active.value = lastingPlace(view, row);
    if (extend && anchor >= 0) {
      const [from = 0, to = 0] = [anchor, seen.indexOf(row)].sort((one, other) => one - other);
      this.#chosen = Array.from(seen.subarray(from, to + 1), (each) => view.name(each));
    } else {
      this.#anchor = this.active.value;
      const name = view.name(row);
      this.#chosen = add ? selectionAfter(selection.value, name, true) : [name];
    }
    selection.value = this.#chosen;
  }

  /** Bring into sight what was selected elsewhere: a bar, a slice of the timeline, a name in a piece of advice. */
  follow(listing: Listing): void {
    const names = this.store.selection.value;
    const isKnown =
      names.length === this.#chosen.length && names.every((name, at) => name === this.#chosen[at]);
    this.#chosen = names;
    if (isKnown) return;
    const place = listing.view.forest.tree.names.indexOf(names[0] ?? "");
    const row = place < 0 ? -1 : listing.view.places.indexOf(place);
    if (row >= 0) this.#reveal(listing, row);
  }

  /** Go to the next match of the search, or the one before; a fresh search may find the active row itself. */
  find(direction: 1 | -1, isFresh = false): void {
    const listing = this.listing.value;
    if (!listing) return;
    const from = Math.max(rowOf(listing.view, this.active.value), 0);
    const row = nextMatch(this.matches.value, from, direction, isFresh);
    if (row >= 0) this.#reveal(listing, row);
  }

  /** Unfold what hides a row, and go to it. */
  #reveal(listing: Listing, row: number): void {
    const { view, outline } = listing;
    const { marks, isMerging, zoom } = this.reading(view);
    const hiding: number[] = [];
    let isInSight = row === listing.top;
    // Up the tree itself: what library frames are merged into is not the place that hides them.
    for (let up = view.parent[row] as number; up >= 0; up = view.parent[up] as number) {
      if (listing.folded[up] || outline.merged?.[row]) hiding.push(lastingPlace(view, up));
      if (up === listing.top) isInSight = true;
    }
    batch(() => {
      this.#read(view, {
        marks: marked(marks, hiding, UNFOLDED),
        isMerging: isMerging && !outline.merged?.[row],
        zoom: isInSight ? zoom : 0,
      });
      this.goTo(listing, row);
    });
  }

  #read(view: View, changes: Partial<FoldState>): void {
    const next = { ...this.reading(view), ...changes };
    this.#readings.value = new Map(this.#readings.peek()).set(this.#key(view), next);
  }

  #key({ kind }: View): string {
    return `${this.store.graph.value} ${this.store.shown.cuts} ${kind}`;
  }
}

/** The trees of a store, as they were left when another tab was looked at. */
export function tableOf(store: Store): TableState {
  return store.kept("table", () => new TableState(store));
}
