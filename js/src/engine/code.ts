// The code view: the tree of the Python frames in which the nodes were created, gradients under the forward lines.

import { ProfileError } from "../data/options.ts";
import { cacheOf, type Profile, type Traces } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import { damaged } from "../data/wire.ts";
import { anyBelow, anyRow, type Forest, forestOf, rowWeights } from "./account.ts";
import { viewTree } from "./evaluate.ts";
import { isEverything } from "./matching.ts";
import { byteOrder } from "./order.ts";
import { ROOT_NAME, Tree } from "./tree.ts";

// The name of steps that are no steps: ops that ran outside of functions.
const EAGER = "eager ops";
const NO_LINES =
  "no lines are known of ops that ran one by one; put them into a tf.function to see their lines";
const NO_TRACES = "the profile has no code traces; give an op_log with traces, or the tf.Graph itself";
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

/** The stacks of nodes in steps whose functions made them elsewhere than the traces say, as Python's OtherStacks. */
interface OtherStacks {
  /** The group of each step, or -1. */
  readonly group: Int32Array;
  /** A row for each node that a group has elsewhere: the group, and the node's stack and forward node there. */
  readonly of: Int32Array;
  readonly node: Int32Array;
  readonly stack: Int32Array;
  readonly forward: Int32Array;
}

/** The profile with the stacks and forward nodes of these steps; as it is if they differ, or have no others. */
export function inSteps(profile: Profile, steps: readonly number[]): Profile {
  const others = cacheOf(profile).kept("other stacks", () => otherStacks(profile));
  const groups = new Set(steps.map((step) => others?.group[step] ?? -1));
  const [group = -1] = groups;
  if (!others || groups.size !== 1 || group < 0) return profile;
  return cacheOf(profile).kept(`in steps of group ${group}`, () => {
    const { traces } = profile;
    const [stack, forward] = [traces.stack.slice(), traces.forward.slice()];
    others.of.forEach((of, row) => {
      if (of !== group) return;
      stack[others.node[row] as number] = others.stack[row] as number;
      forward[others.node[row] as number] = others.forward[row] as number;
    });
    const { late: _, ...rest } = profile;
    return { ...rest, traces: { ...traces, stack, forward } };
  });
}

/** What was sent of other stacks; undefined where nothing was. */
function otherStacks({ late, nodes, steps, traces }: Profile): OtherStacks | undefined {
  const [group, of, node, stack, forward] = ["group", "of", "node", "stack", "forward"].map(
    (name) => late?.(`other_stacks.${name}`, "indices", true) as Int32Array | undefined,
  );
  if (!group || !of || !node || !stack || !forward) return undefined;
  const isRight = (column: Int32Array, least: number, size: number) =>
    column.length === of.length && column.every((each) => each >= least && each < size);
  const [count, stacks] = [nodes.names.length, traces.stacks.start.length - 1];
  const isWhole = isRight(node, 0, count) && isRight(stack, -1, stacks) && isRight(forward, -1, count);
  if (!isWhole || group.length !== steps.length) throw damaged("the other stacks do not fit");
  return { group, of, node, stack, forward };
}

/** Flag the nodes that the code view of these steps counts below frames of these names. */
export function flagCreated(
  whole: Profile,
  steps: readonly number[],
  frames: ReadonlySet<string>,
  flags: Uint8Array,
): void {
  const profile = inSteps(whole, steps);
  if (!hasTraces(profile)) return;
  const tree = viewTree(profile, "code");
  tree.names.forEach((name, place) => {
    if (!frames.has(name)) return;
    const last = tree.rowStart[tree.end[place] as number] as number;
    for (let row = tree.rowStart[place] as number; row < last; row++) flags[tree.rows[row] as number] = 1;
  });
}

function hasTraces({ traces }: Profile): boolean {
  return traces.stack.some((stack) => stack >= 0);
}

/** The tree of frames. */
export function codeTree(names: readonly string[], traces: Traces, stepNames: readonly string[] = []): Tree {
  if (!traces.stack.some((stack) => stack >= 0)) {
    throw new ProfileError(`code view: ${stepNames.includes(EAGER) ? NO_LINES : NO_TRACES}`);
  }
  const grown = new Growing(traces);
  const forward = new Map<string, number>();
  const gradients = new Map<string, number[]>();
  for (let row = 0; row < names.length; row++) {
    const stack = traces.stack[row] as number;
    if (stack < 0 || traces.stacks.start[stack] === traces.stacks.start[stack + 1]) continue;
    const name = names[row] as string;
    const told = traces.forward[row] as number;
    const own = told === row ? undefined : names[told];
    const forwardOf = told >= 0 ? own : forwardName(name);
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
