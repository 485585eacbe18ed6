// The scope view: the tree of name parts, with a place made for every scope that is not itself a node.

import type { Profile } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import { accounted, anyBelow, type Forest, forestOf } from "./account.ts";
import { gatheredIndices, type Indices } from "./columns.ts";
import { Names } from "./matching.ts";
import { byteOrder, ordered } from "./order.ts";
import { ROOT_NAME, Tree } from "./tree.ts";

// The type that native gives to the scopes it makes up, which `account_type_regexes` can match.
const SCOPE_TYPE = "_kTFScopeParent";

/** The tree of the parts of names that are sorted and distinct. */
export function scopeTree(names: readonly string[]): Tree {
  const { found, above } = parts(names);
  const sorted = inByteOrder(found, names.length);
  const order = ordered(sorted, Int32Array.from(above));
  const rank = inverse(sorted);
  const place = inverse(order);
  const parent = new Int32Array(order.length).fill(-1);
  const rows = new Int32Array(names.length);
  const rowStart = new Int32Array(order.length + 1);
  for (let i = 0, count = 0; i < order.length; i++) {
    const part = order[i] as number;
    if (part > 0) parent[i] = place[above[part] as number] as number;
    if (part > 0 && part <= names.length) rows[count++] = part - 1;
    rowStart[i + 1] = count;
  }
  const inOrder = Array.from(order, (part) => found[part] as string);
  return new Tree(inOrder, parent, rows, rowStart, gatheredIndices(rank, order));
}

/** What is accounted in a scope tree; a place is kept if it or anything below it is accounted. */
export function scopeForest(profile: Profile, tree: Tree, options: Options): Forest {
  const [scope] = new Names([SCOPE_TYPE]).matching("account_type_regexes", options.accountTypeRegexes);
  const nodes = accounted(profile, options);
  const marked = new Uint8Array(tree.size);
  for (let place = 1; place < marked.length; place++) {
    const node = tree.single[place] as number;
    marked[place] = (node >= 0 ? nodes[node] : scope) as number;
  }
  const kept = anyBelow(tree, marked);
  const weight = new Int32Array(tree.rows.length);
  for (let place = 1, row = 0; place < kept.length; place++) {
    if ((tree.single[place] as number) >= 0) weight[row++] = kept[place] as number;
  }
  return forestOf(tree, marked, kept, weight);
}

/** The root, the names and then the scopes that are no names; and of each which one it is in, -1 for the root. */
function parts(names: readonly string[]): { found: string[]; above: number[] } {
  const found = [ROOT_NAME, ...names];
  const partOf = new Map<string, number>();
  for (let part = 1; part < found.length; part++) partOf.set(found[part] as string, part);
  const above = [-1];
  for (let part = 1; part < found.length; part++) {
    const name = found[part] as string;
    const slash = name.lastIndexOf("/");
    if (slash < 0) {
      above.push(0);
      continue;
    }
    const scope = name.slice(0, slash);
    let known = partOf.get(scope);
    if (known === undefined) {
      known = found.push(scope) - 1;
      partOf.set(scope, known);
    }
    above.push(known);
  }
  return { found, above };
}

/** The parts in the order of their names, the root first; the names, which come next, have it. */
function inByteOrder(found: readonly string[], names: number): Indices {
  const compare = byteOrder(found);
  const inOrder = (one: number, other: number) => compare(found[one] as string, found[other] as string);
  const scopes = Array.from({ length: found.length - 1 - names }, (_, i) => 1 + names + i).sort(inOrder);
  const sorted = new Int32Array(found.length);
  for (let i = 1, name = 1, scope = 0; i < sorted.length; i++) {
    const next = scopes[scope];
    const isName = next === undefined || (name <= names && inOrder(name, next) < 0);
    sorted[i] = isName ? name++ : next;
    if (!isName) scope++;
  }
  return sorted;
}

/** Where each index is in a list of all of them. */
function inverse(order: Indices): Indices {
  const position = new Int32Array(order.length);
  for (let i = 0; i < order.length; i++) position[order[i] as number] = i;
  return position;
}
