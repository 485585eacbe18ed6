// The op view: one row an op type, each row's total its own and that of all rows after it.

import type { Profile } from "../data/profile.ts";
import type { Options, Order } from "../data/protocol.ts";
import { anyRow, type Forest, forestOf, rowWeights } from "./account.ts";
import {
  countedUp,
  type Flags,
  gatheredIndices,
  gatheredNumbers,
  type Indices,
  type Numbers,
} from "./columns.ts";
import { type Display, masks, matching, thresholds } from "./display.ts";
import { isEverything } from "./matching.ts";
import { sortByKey } from "./order.ts";
import type { Sums } from "./sums.ts";
import { ROOT_NAME, Tree } from "./tree.ts";
import { type Totals, View } from "./view.ts";

/** A flat tree: a place an op type, in byte order, with its graph nodes in byte order of name. */
export function opTree(profile: Profile): Tree {
  const { op, ops } = profile.nodes;
  const rowStart = new Int32Array(ops.length + 2);
  for (const each of op) rowStart[each + 2] = (rowStart[each + 2] as number) + 1;
  for (let place = 1; place < rowStart.length; place++) {
    rowStart[place] = (rowStart[place] as number) + (rowStart[place - 1] as number);
  }
  const parent = new Int32Array(ops.length + 1);
  parent[0] = -1;
  const rows = sortByKey(countedUp(op.length), op);
  return new Tree([ROOT_NAME, ...ops], parent, rows, rowStart, countedUp(ops.length + 1));
}

/** What is accounted of the op types: those with a node that is. */
export function opForest(profile: Profile, tree: Tree, options: Options): Forest {
  const weights = rowWeights(profile, options);
  const weight = tree.rows.map((row) => weights[row] as number);
  const marked = anyRow(tree, weight);
  return forestOf(tree, marked, marked, weight);
}

/** The rows of the op view: sort the op types, sum from the last to the first, then choose what to show. */
export function opView(profile: Profile, options: Options, display: Display): View {
  const { sums } = display;
  const ranked = ranking(sums, options.orderBy);
  const whole = totalsOf(sums, ranked);
  const rows = shownRows(options, display, ranked, whole);
  const places = gatheredIndices(ranked, rows);
  return new View({
    profile,
    kind: "op",
    options,
    sums,
    places,
    parent: () => new Int32Array(places.length).fill(-1),
    totals: options.accountDisplayedOpOnly ? totalsOf(sums, places) : partOf(whole, rows),
  });
}

function ranking(sums: Sums, orderBy: Order): Indices {
  const { tree } = sums.forest;
  const places = countedUp(tree.size).subarray(1);
  const measure = sums.ordering(orderBy);
  if (measure)
    return sortByKey(
      places,
      sums.own(measure).map((value) => -value),
    );
  if (orderBy === "occurrence")
    return sortByKey(
      places,
      tree.rowCount.map((count) => -count),
    );
  return places;
}

/** The totals of some op types: of each, and of all after it. */
function totalsOf(sums: Sums, places: Indices): Totals {
  return {
    total: (measure) => summedFromEnd(gatheredNumbers(sums.own(measure), places)),
    grandTotal: (measure) => summedFromEnd(gatheredNumbers(sums.own(measure), places))[0] ?? 0,
    definitions: () => summedFromEnd(Float64Array.from(gatheredIndices(sums.forest.tree.rowCount, places))),
    hidden: () => new Float64Array(places.length),
  };
}

function partOf(whole: Totals, rows: Indices): Totals {
  return {
    ...whole,
    total: (measure) => gatheredNumbers(whole.total(measure), rows),
    definitions: () => gatheredNumbers(whole.definitions(), rows),
    hidden: () => new Float64Array(rows.length),
  };
}

function summedFromEnd(values: Numbers): Numbers {
  for (let row = values.length - 2; row >= 0; row--) {
    values[row] = (values[row] as number) + (values[row + 1] as number);
  }
  return values;
}

/** Which of the ranked rows are shown: from the start row to the first trimmed one, `max_depth` rows on. */
function shownRows(options: Options, display: Display, places: Indices, whole: Totals): Indices {
  const { tree } = display.sums.forest;
  const [first, last] = rangeOf(options, display, places);
  const isVisible = new Uint8Array(places.length).fill(1, first, last);
  for (const mask of masks(display, options)) {
    places.forEach((place, row) => {
      if (!mask[place]) isVisible[row] = 0;
    });
  }
  places.forEach((place, row) => {
    if ((tree.rowCount[place] as number) < options.minOccurrence) isVisible[row] = 0;
  });
  for (const [measure, least] of thresholds(options, display.sums.measures)) {
    if (measure === "runs") continue;
    whole.total(measure).forEach((value, row) => {
      if (value < least) isVisible[row] = 0;
    });
  }
  return countedUp(places.length).filter((row) => isVisible[row]);
}

function rangeOf(options: Options, display: Display, places: Indices): [first: number, last: number] {
  const { startNameRegexes, trimNameRegexes, maxDepth } = options;
  let first = 0;
  let last = places.length;
  if (startNameRegexes.length > 0 && !isEverything(startNameRegexes)) {
    first = firstOf(places, matching(display, "start_name_regexes", startNameRegexes), 0);
  }
  if (trimNameRegexes.length > 0) {
    last = firstOf(places, matching(display, "trim_name_regexes", trimNameRegexes), first);
  }
  return [first, Math.min(last, first + maxDepth + 1)];
}

function firstOf(places: Indices, marked: Flags, start: number): number {
  for (let row = start; row < places.length; row++) {
    if (marked[places[row] as number]) return row;
  }
  return places.length;
}
