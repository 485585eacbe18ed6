// The code view: the tree of the Python frames in which the nodes were created, gradients under the forward lines.

import { ProfileError } from "../data/options.ts";
import type { Profile, Traces } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import { anyBelow, anyRow, type Forest, forestOf, rowWeights } from "./account.ts";
import { isEverything } from "./matching.ts";
import { byteOrder } from "./order.ts";
import { ROOT_NAME, Tree } from "./tree.ts";

const GRADIENT_SUFFIX = " (gradient)";
const LONGEST_FUNCTION = 19;
const KEPT_OF_LONGER = 17;

/** A place of the tree while it grows: children by name, in the order they were first met. */
interface CodePlace {
  readonly name: string;
  readonly children: Map<string, CodePlace>;
  readonly rows: number[];
}

/** How tfprof writes a frame; long function names are cut, by bytes as native counts them. */
export function frameName(file: string, line: number, name: string): string {
  const encoded = new TextEncoder().encode(name);
  const kept = encoded.subarray(0, KEPT_OF_LONGER);
  // As a stream, for that leaves out what is cut off inside a character.
  const shown =
    encoded.length > LONGEST_FUNCTION ? `${new TextDecoder().decode(kept, { stream: true })}...` : name;
  return `${file.slice(file.lastIndexOf("/") + 1)}:${line}:${shown}`;
}

/** The node that a gradient node is named after, undefined if the name is not of that form. */
export function forwardName(name: string): string | undefined {
  const prefix = name.indexOf("gradients/");
  const suffix = name.indexOf("_grad/");
  if (prefix < 0 || suffix < 0) return undefined;
  const start = prefix + "gradients/".length;
  if (suffix < start) return name.slice(start); // native's length wraps around here, and so takes the rest
  return name.slice(start, suffix) || undefined;
}

/** The tree of frames. */
export function codeTree(names: readonly string[], traces: Traces): Tree {
  if (!traces.stack.some((stack) => stack >= 0)) {
    throw new ProfileError(
      "code view: the profile has no code traces; give an op_log with traces, or the tf.Graph itself",
    );
  }
  const grown = new Growing(traces);
  const forward = new Map<string, number>();
  const gradients = new Map<string, number[]>();
  for (let row = 0; row < names.length; row++) {
    const stack = traces.stack[row] as number;
    if (stack < 0 || traces.stacks.start[stack] === traces.stacks.start[stack + 1]) continue;
    const name = names[row] as string;
    const told = traces.forward[row] as number;
    const forwardOf = told >= 0 ? names[told] : forwardName(name);
    if (forwardOf === undefined) {
      forward.set(name, stack);
      grown.leaf(stack, "").rows.push(row);
    } else {
      const rows = gradients.get(forwardOf);
      if (rows) rows.push(row);
      else gradients.set(forwardOf, [row]);
    }
  }
  const forwardNames = [...gradients.keys()];
  for (const name of forwardNames.sort(byteOrder(forwardNames))) {
    const stack = forward.get(name);
    if (stack === undefined) continue;
    const { rows } = grown.leaf(stack, GRADIENT_SUFFIX);
    for (const row of gradients.get(name) ?? []) rows.push(row);
  }
  return flattened(grown.root);
}

/** What is accounted in a code tree; a place is kept if it or anything below it is accounted. */
export function codeForest(profile: Profile, tree: Tree, options: Options): Forest {
  const weights = rowWeights(profile, options);
  const weight = tree.rows.map((row) => weights[row] as number);
  const marked = isEverything(options.accountTypeRegexes)
    ? new Uint8Array(tree.size).fill(1)
    : anyRow(tree, weight);
  return forestOf(tree, marked, anyBelow(tree, marked), weight);
}

/** A tree of frames, and where in it each stack ends. */
class Growing {
  readonly root = newPlace(ROOT_NAME);
  readonly #leaves = new Map<string, CodePlace>();
  readonly #names: readonly string[];

  constructor(private readonly traces: Traces) {
    this.#names = Array.from(traces.file, (file, index) =>
      frameName(
        traces.strings[file] as string,
        traces.line[index] as number,
        traces.strings[traces.function[index] as number] as string,
      ),
    );
  }

  /** The innermost frame of a stack, grown into the tree when first met. */
  leaf(stack: number, suffix: string): CodePlace {
    const key = `${stack}${suffix}`;
    const found = this.#leaves.get(key) ?? this.#grow(stack, suffix);
    this.#leaves.set(key, found);
    return found;
  }

  #grow(stack: number, suffix: string): CodePlace {
    const { start, values } = this.traces.stacks;
    let found = this.root;
    for (const each of values.subarray(start[stack], start[stack + 1])) {
      const name = (this.#names[each] as string) + suffix;
      const child = found.children.get(name) ?? newPlace(name);
      found.children.set(name, child);
      found = child;
    }
    return found;
  }
}

function newPlace(name: string): CodePlace {
  return { name, children: new Map(), rows: [] };
}

function flattened(root: CodePlace): Tree {
  const names: string[] = [];
  const parents: number[] = [];
  const rows: number[] = [];
  const rowStart = [0];
  const pending: [place: CodePlace, parent: number][] = [[root, -1]];
  for (let each = pending.pop(); each; each = pending.pop()) {
    const [place, parent] = each;
    for (const child of [...place.children.values()].reverse()) pending.push([child, names.length]);
    names.push(place.name);
    parents.push(parent);
    for (const row of place.rows) rows.push(row);
    rowStart.push(rows.length);
  }
  return new Tree(
    names,
    Int32Array.from(parents),
    Int32Array.from(rows),
    Int32Array.from(rowStart),
    nameRank(names),
  );
}

function nameRank(names: readonly string[]): Int32Array {
  const compare = byteOrder(names);
  const places = names.map((_, place) => place);
  places.sort((one, other) => compare(names[one] as string, names[other] as string));
  const rank = new Int32Array(names.length);
  places.forEach((place, position) => {
    rank[place] = position;
  });
  return rank;
}
