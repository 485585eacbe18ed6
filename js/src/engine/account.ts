// Which rows count, and the tree that is left of them (docs/engine.md, section 3).

import { cacheOf, type Profile } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import { type Flags, gatheredFlags, type Indices, positionsOf } from "./columns.ts";
import { isEverything, Names } from "./matching.ts";
import type { Tree } from "./tree.ts";

/** Whether one of each node's types matches one of `account_type_regexes`. */
export function accounted(profile: Profile, options: Options): Flags {
  if (isEverything(options.accountTypeRegexes)) return new Uint8Array(profile.nodes.op.length).fill(1);
  return Uint8Array.from(timesAccounted(profile, options), (times) => (times > 0 ? 1 : 0));
}

/** How often the rows of op and code view count each node: never, once or, with the native clock, more often. */
export function rowWeights(profile: Profile, options: Options): Indices {
  if (isEverything(options.accountTypeRegexes)) return new Int32Array(profile.nodes.op.length).fill(1);
  const times = timesAccounted(profile, options);
  return options.timing === "tfprof" ? times : times.map((count) => Math.min(count, 1));
}

/** How many of `account_type_regexes` match a type of each node; native counts it once for every one. */
function timesAccounted(profile: Profile, options: Options): Indices {
  const { types, typeNames, op } = profile.nodes;
  const names = cacheOf(profile).kept("types", () => new Names(typeNames));
  const times = new Int32Array(op.length);
  for (const regex of options.accountTypeRegexes) {
    const marked = names.matchingOne("account_type_regexes", regex);
    for (let node = 0; node < times.length; node++) {
      const last = types.start[node + 1] as number;
      for (let i = types.start[node] as number; i < last; i++) {
        if (!marked[types.values[i] as number]) continue;
        times[node] = (times[node] as number) + 1;
        break;
      }
    }
  }
  return times;
}

/** The kept places of a tree with the rows that count; one may be kept for the sake of what is below it only. */
export interface Forest {
  readonly tree: Tree;
  readonly accounted: Flags;
  readonly weight: Indices;
}

/** Contract a tree to the places that are kept and the rows whose weight is not 0; the root always stays. */
export function forestOf(tree: Tree, accounted: Flags, kept: Flags, weight: Indices): Forest {
  const places = kept.slice();
  places[0] = 1;
  const marked = accounted.slice();
  marked[0] = 0;
  const counted = Uint8Array.from(weight, (times) => (times > 0 ? 1 : 0));
  return {
    tree: tree.contracted(places, counted),
    accounted: gatheredFlags(marked, positionsOf(places)),
    weight: weight.filter((times) => times > 0),
  };
}

/** Whether a place or any place below it is marked. */
export function anyBelow(tree: Tree, marked: Flags): Flags {
  const found = marked.slice();
  for (let place = found.length - 1; place > 0; place--) {
    if (found[place]) found[tree.parent[place] as number] = 1;
  }
  return found;
}

/** Whether a place has a row that counts. */
export function anyRow(tree: Tree, weight: Indices): Flags {
  const found = new Uint8Array(tree.size);
  for (let place = 0; place < found.length; place++) {
    const last = tree.rowStart[place + 1] as number;
    for (let row = tree.rowStart[place] as number; row < last; row++) {
      if (weight[row]) found[place] = 1;
    }
  }
  return found;
}
