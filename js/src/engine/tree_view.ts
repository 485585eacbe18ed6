// The views that are trees (scope, graph, code): display, order, then the shown rows' columns.

import type { Profile } from "../data/profile.ts";
import type { Options, ViewName } from "../data/protocol.ts";
import { type Flags, gatheredNumbers, type Indices, type Numbers, positionsOf } from "./columns.ts";
import { type Display, visiblePlaces } from "./display.ts";
import { ordered, sortByKey } from "./order.ts";
import type { Sums } from "./sums.ts";
import { type Totals, View } from "./view.ts";

/** The rows of a tree view: the shown places, ordered, with their own values and totals. */
export function treeView(profile: Profile, kind: ViewName, options: Options, display: Display): View {
  const { sums } = display;
  // Native's code view ignores the option; by its clock so do we.
  const isHeeded = kind !== "code" || options.timing === "exact";
  const displayedOnly = options.accountDisplayedOpOnly && isHeeded;
  const visible = visiblePlaces(display, options);
  const places = inOrder(kind, options, sums, visible, displayedOnly);
  return new View({
    profile,
    kind,
    options,
    sums,
    places,
    parent: () => rowsAbove(sums.forest.tree.parent, visible, places),
    totals: displayedOnly ? displayedTotals(sums, visible, places) : wholeTotals(sums, visible, places),
  });
}

/**
 * The visible places as they are shown. If whatever is above a visible place is visible too, and totals do not
 * depend on what is visible, the order is that of all places with the others left out.
 */
function inOrder(
  kind: ViewName,
  options: Options,
  sums: Sums,
  visible: Flags,
  displayedOnly: boolean,
): Indices {
  const { tree } = sums.forest;
  const { orderBy } = options;
  const measure = displayedOnly && sums.ordering(orderBy);
  if (measure) {
    const key = displayedSums(tree.end, visible, sums.own(measure)).map((value) => -value);
    return ordered(sortByKey(positionsOf(visible), key), shownAbove(tree.parent, visible));
  }
  if (isClosed(tree.parent, visible)) return chosen(sums.order(orderBy, kind), visible);
  return ordered(chosen(sums.sequence(orderBy, kind), visible), shownAbove(tree.parent, visible));
}

function isClosed(parent: Indices, visible: Flags): boolean {
  for (let place = 1; place < parent.length; place++) {
    if (visible[place] && !visible[parent[place] as number]) return false;
  }
  return true;
}

function chosen(places: Indices, visible: Flags): Indices {
  const found = new Int32Array(places.length);
  let count = 0;
  for (let i = 0; i < places.length; i++) {
    const place = places[i] as number;
    if (visible[place]) found[count++] = place;
  }
  return found.slice(0, count);
}

/** The nearest visible place above each place, -1 for the root. */
function shownAbove(parent: Indices, visible: Flags): Indices {
  const above = new Int32Array(parent.length);
  above[0] = -1;
  for (let place = 1; place < parent.length; place++) {
    const direct = parent[place] as number;
    above[place] = visible[direct] ? direct : (above[direct] as number);
  }
  return above;
}

function rowsAbove(parent: Indices, visible: Flags, places: Indices): Indices {
  const above = shownAbove(parent, visible);
  const rowOf = new Int32Array(parent.length);
  const rows = new Int32Array(places.length);
  rows[0] = -1;
  for (let row = 0; row < places.length; row++) {
    const place = places[row] as number;
    rowOf[place] = row;
    if (row > 0) rows[row] = rowOf[above[place] as number] as number;
  }
  return rows;
}

/** Totals over all that is accounted, shown or not. */
function wholeTotals(sums: Sums, visible: Flags, places: Indices): Totals {
  const { end } = sums.forest.tree;
  return {
    total: (measure) => gatheredNumbers(sums.total(measure), places),
    grandTotal: (measure) => sums.total(measure)[0] as number,
    // Every place but the root, which stands for no graph node.
    definitions: () =>
      Float64Array.from(places, (place) => (end[place] as number) - place - (place === 0 ? 1 : 0)),
    hidden: () => hidden(sums, visible, places),
  };
}

/** Totals over the shown rows only. */
function displayedTotals(sums: Sums, visible: Flags, places: Indices): Totals {
  const { end } = sums.forest.tree;
  const ones = new Float64Array(end.length).fill(1);
  return {
    total: (measure) => gatheredNumbers(displayedSums(end, visible, sums.own(measure)), places),
    grandTotal: (measure) => displayedSums(end, visible, sums.own(measure))[0] as number,
    // Native counts the root itself among the definitions here, and only here.
    definitions: () => gatheredNumbers(displayedSums(end, visible, ones), places),
    hidden: () => hidden(sums, visible, places),
  };
}

/** The sum over the visible places of each subtree. */
function displayedSums(end: Indices, visible: Flags, values: Numbers): Numbers {
  const prefix = new Float64Array(values.length + 1);
  for (let place = 0; place < values.length; place++) {
    prefix[place + 1] = (prefix[place] as number) + (visible[place] ? (values[place] as number) : 0);
  }
  return values.map((_, place) => (prefix[end[place] as number] as number) - (prefix[place] as number));
}

/** How many accounted places of each subtree are not shown. */
function hidden(sums: Sums, visible: Flags, places: Indices): Numbers {
  const { tree, accounted } = sums.forest;
  const isHidden = visible.map((each) => 1 - each);
  return gatheredNumbers(displayedSums(tree.end, isHidden, Float64Array.from(accounted)), places);
}
