// The graph as boxes in boxes: layers, the scopes in them and the nodes in these; each opens into the boxes in it.

import { cacheOf, type Lists, type Profile } from "../data/profile.ts";
import { layerColumns, layersTree, ROLES } from "../engine/layers.ts";
import { inNaturalOrder } from "../lib/format.ts";
import { asideIn, takersIn, targetsOf } from "./graph_edges.ts";
import { nameGroups, type Repeat, repeatsIn } from "./graph_folds.ts";

/** What a box stands for. */
export interface Box {
  readonly kind: "graph" | "layer" | "scope" | "node" | "group" | "repeat" | "pass";
  /** Tells it from all others of the graph, and stays the same while others open. */
  readonly key: string;
  readonly label: string;
  /** The class of a layer, the op type of a node; else empty. */
  readonly type: string;
  /** The graph nodes in it, in the order of their names. */
  readonly nodes: Int32Array;
  /** How many siblings of the same structure it stands for. */
  readonly times: number;
}

// More siblings than this are put into groups, and folded where they repeat.
const MOST_SIBLINGS = 12;
// More than this are folded also where they do not follow each other.
const MANY_SIBLINGS = 40;
const LEAST_ALIKE = 3;
const MOST_LEVELS = 100;
/** So many boxes are in one box at most; the cheapest beyond these are put into one. */
const MOST_BOXES = 300;

const [FORWARD, BACKWARD, UPDATE] = ROLES.keys() as unknown as [number, number, number];
const NO_LAYER = "no layer";
/** What is of no layer and nothing else either, and what of it the layers take. */
const OTHER = "other";
const BEFORE = "before the layers";
const PASS_LABELS: Readonly<Record<number, string>> = { [BACKWARD]: "gradients", [UPDATE]: "update" };

/** The boxes of a profile's graph, made as they are opened. */
export class GraphBoxes {
  readonly whole: Box;
  /** A flag a node that is not drawn: constants, variables and what reads them, nodes that only wait for others. */
  readonly isAside: Uint8Array;
  /** The place of what each node does in ROLES. */
  readonly role: Int32Array;
  readonly #children = new Map<Box, readonly Box[]>();
  /** What groups and folds are made of. */
  readonly #members = new Map<Box, readonly Box[]>();
  readonly #above = new Map<Box, Box>();
  readonly #places = new Map<Box, number>();
  readonly #outside = new Map<Box, Int32Array>();
  readonly #scopeNames = new Map<Box, string>();
  readonly #tree;
  readonly #types: readonly string[];
  #consumers: Lists | undefined;

  constructor(readonly profile: Profile) {
    const { types, role } = layerColumns(profile);
    this.#tree = layersTree(profile);
    this.#types = types;
    this.role = role;
    this.isAside = asideIn(profile);
    const nodes = Int32Array.from({ length: profile.nodes.op.length }, (_, node) => node);
    this.whole = { kind: "graph", key: "", label: "graph", type: "", nodes, times: 1 };
  }

  /** The boxes in a box, in the order of the model or of their names; none in a node. */
  children(box: Box): readonly Box[] {
    let found = this.#children.get(box);
    if (!found) {
      found = this.#limited(box, this.#childrenOf(box));
      this.#children.set(box, found);
    }
    return found;
  }

  /** The box that a box is in; null for the whole. */
  above(box: Box): Box | null {
    return this.#above.get(box) ?? null;
  }

  /** Whether there is something to see in it. */
  opens(box: Box): boolean {
    return box.kind !== "node" && box.nodes.length > 1;
  }

  /** Whether its boxes are layers, between which only the way forward is drawn: gradients go the same way back. */
  holdsLayers(box: Box): boolean {
    return this.children(box).some(
      (child) => child.kind === "layer" || (this.#members.has(child) && this.holdsLayers(child)),
    );
  }

  /** The nodes that take from each node. */
  get consumers(): Lists {
    this.#consumers ??= targetsOf(this.profile.nodes.inputs, this.profile.nodes.op.length);
    return this.#consumers;
  }

  /** What the tables call it: names of rows to select. */
  namesOf(box: Box): readonly string[] {
    const name = this.#scopeNames.get(box);
    if (name !== undefined) return [name];
    if (this.#places.has(box)) return [box.label];
    return [...new Set(this.children(box).flatMap((child) => this.namesOf(child)))];
  }

  /** The boxes around a node, from the outermost one to its own; those that are not drawn are left out. */
  pathTo(node: number): readonly Box[] {
    const path: Box[] = [];
    for (let at: Box | undefined = this.whole; at && path.length < MOST_LEVELS; ) {
      at = this.children(at).find((child) => holds(child.nodes, node));
      if (at) path.push(at);
    }
    return path;
  }

  #childrenOf(box: Box): readonly Box[] {
    const members = this.#members.get(box);
    if (members) return members;
    if (box.kind === "node") return [];
    if (box.kind === "scope") return this.#scopes(box, box.nodes, this.#scopeNames.get(box));
    if (box.kind === "pass") return this.#scopes(box, box.nodes);
    if (box.kind === "graph" && !this.#hasLayers()) return this.#folded(box, this.#scopes(box, box.nodes));
    const outside = this.#outside.get(box);
    if (outside) return this.#passes(box, outside);
    const place = this.#places.get(box) ?? 0;
    const layers = this.#layersIn(box, place);
    const { rows, rowStart } = this.#tree;
    const own = rows.slice(rowStart[place], rowStart[place + 1]).sort();
    return [...this.#folded(box, layers), ...this.#passes(box, own)];
  }

  #hasLayers(): boolean {
    return this.#tree.names.length > 2;
  }

  /** The layers right below a place; those of no layer stand beside the layers. */
  #layersIn(above: Box, place: number): Box[] {
    const { names, parent, end, rows, rowStart } = this.#tree;
    const found: Box[] = [];
    for (let child = place + 1; child < (end[place] as number); child = end[child] as number) {
      const last = end[child] as number;
      const label = names[child] as string;
      const isOutside = parent[child] === 0 && label === NO_LAYER && last > child + 1;
      if (isOutside) {
        found.push(...this.#layersIn(above, child));
        continue;
      }
      const nodes = rows.slice(rowStart[child], rowStart[last]).sort();
      if (!nodes.length) continue;
      if (parent[child] !== 0 && label === OTHER && this.#isOutside(child)) {
        found.push(...this.#aroundLayers(above, nodes));
        continue;
      }
      const box: Box = {
        kind: "layer",
        key: `${above.key}>${child}`,
        label,
        type: this.#types[child - 1] ?? "",
        nodes,
        times: 1,
      };
      this.#places.set(box, child);
      this.#above.set(box, above);
      found.push(box);
    }
    return found;
  }

  /** Whether a place is one of those that hold what is of no layer. */
  #isOutside(place: number): boolean {
    const { names, parent } = this.#tree;
    return parent[parent[place] as number] === 0 && names[parent[place] as number] === NO_LAYER;
  }

  /** What is of no layer, parted into what comes before the layers and the rest, so that no edge leads back. */
  #aroundLayers(above: Box, nodes: Int32Array): Box[] {
    const isAfter = takersIn(new Set(nodes), this.profile.nodes.inputs, this.consumers, this.isAside);
    const parts = [false, true].map((isLast) => nodes.filter((node) => isAfter.has(node) === isLast));
    const areParted = parts.every((part) => part.some((node) => !this.isAside[node]));
    return (areParted ? parts : [nodes]).map((part, at) => {
      const label = areParted && at === 0 ? BEFORE : OTHER;
      const box: Box = {
        kind: "layer",
        key: `${above.key}>${label}`,
        label,
        type: "",
        nodes: part,
        times: 1,
      };
      this.#outside.set(box, part);
      return this.#put(above, box);
    });
  }

  /** The nodes of a layer: those of the way forward by their scopes, those of the other passes in a box each. */
  #passes(above: Box, nodes: Int32Array): readonly Box[] {
    const ofRole = (role: number) => nodes.filter((node) => this.role[node] === role);
    const parts = [BACKWARD, UPDATE].map((role) => [role, ofRole(role)] as const);
    const others = parts.filter(([, part]) => part.length > 0 && part.length < nodes.length);
    if (!others.length) return this.#scopes(above, nodes);
    const taken = new Set(others.map(([role]) => role));
    const rest = nodes.filter((node) => !taken.has(this.role[node] as number));
    const passes = others.map(([role, part]) => {
      const label = PASS_LABELS[role] as string;
      const key = `${above.key}>${label}`;
      return this.#put(above, { kind: "pass", key, label, type: "", nodes: part, times: 1 });
    });
    return [...this.#scopes(above, rest), ...passes];
  }

  /** The next scopes and nodes below a scope; a scope that holds all is passed over. */
  #scopes(above: Box, nodes: Int32Array, below = ""): readonly Box[] {
    const { names, ops, op } = this.profile.nodes;
    let scope = below;
    let groups = partsBelow(names, nodes, scope);
    for (let [part] = groups.keys(); groups.size === 1 && nodes.length > 1 && part; [part] = groups.keys()) {
      scope = scope ? `${scope}/${part}` : part;
      groups = partsBelow(names, nodes, scope);
    }
    const parts = [...groups.keys()].sort(inNaturalOrder);
    return parts.map((part) => {
      const found = Int32Array.from(groups.get(part) as number[]);
      const full = part ? (scope ? `${scope}/${part}` : part) : scope;
      const drawn = found.filter((each) => !this.isAside[each]);
      const base = { key: `${above.key}/${full}`, nodes: found, times: 1 };
      if (part && (drawn.length > 1 || (found.length > 1 && !drawn.length))) {
        const box = this.#put(above, { ...base, kind: "scope", label: part, type: "" });
        this.#scopeNames.set(box, full);
        return box;
      }
      // An op with what it reads is one box.
      const node = drawn[0] ?? (found[0] as number);
      const label =
        part && groups.size > 1 ? part : lastPartOf(found.length > 1 ? full : (names[node] as string));
      const type = ops[op[node] as number] as string;
      const box = this.#put(above, { ...base, key: `${base.key}.`, kind: "node", label, type });
      this.#scopeNames.set(box, found.length > 1 ? full : (names[node] as string));
      return box;
    });
  }

  #put(above: Box, box: Box): Box {
    this.#above.set(box, above);
    return box;
  }

  /** Many siblings in groups by name, and repeated ones as one box. */
  #folded(above: Box, siblings: readonly Box[], known = 0): readonly Box[] {
    if (siblings.length <= MOST_SIBLINGS) return siblings;
    const names = siblings.map(({ label }) => label);
    const grouped: Box[] = [];
    let next = 0;
    for (const { start, end, name } of nameGroups(names, known)) {
      grouped.push(...siblings.slice(next, start));
      const group = this.#together("group", above, siblings.slice(start, end), name);
      this.#members.set(group, this.#folded(group, this.#members.get(group) as Box[], name.length));
      grouped.push(group);
      next = end;
    }
    grouped.push(...siblings.slice(next));
    return this.#foldedRepeats(above, grouped);
  }

  #foldedRepeats(above: Box, siblings: readonly Box[]): readonly Box[] {
    const isLarge = siblings.map(({ nodes }) => nodes.length > 2);
    const repeats = repeatsIn(
      siblings.map((box) => this.#signature(box)),
      isLarge,
    );
    const found: Box[] = [];
    let next = 0;
    for (const repeat of repeats) {
      found.push(...siblings.slice(next, repeat.start), this.#repeated(above, siblings, repeat));
      next = repeat.start + repeat.period * repeat.count;
    }
    return [...found, ...siblings.slice(next)];
  }

  #repeated(above: Box, siblings: readonly Box[], { start, period, count }: Repeat): Box {
    const all = siblings.slice(start, start + period * count);
    if (period === 1) return this.#together("repeat", above, all, (all[0] as Box).label, count);
    const fold = this.#together("repeat", above, all, spanOf(all, period), count);
    const rounds = Array.from({ length: count }, (_, round) => {
      const members = all.slice(round * period, (round + 1) * period);
      return this.#together("group", fold, members, spanOf(members, period));
    });
    this.#members.set(fold, rounds);
    return fold;
  }

  /** A box of boxes. */
  #together(kind: "group" | "repeat", above: Box, members: readonly Box[], label: string, times = 1): Box {
    const nodes = joinedInOrder(members.map((each) => each.nodes));
    const key = `${above.key}+${(members[0] as Box).key}`;
    const type = times > 1 ? (members[0] as Box).type : "";
    const box = this.#put(above, { kind, key, label, type, nodes, times });
    for (const each of members) this.#above.set(each, box);
    this.#members.set(box, members);
    return box;
  }

  /** The same for boxes that do the same forward. */
  #signature(box: Box): string {
    const { op } = this.profile.nodes;
    const counts = new Map<number, number>();
    for (const node of box.nodes) {
      if (this.isAside[node] || this.role[node] !== FORWARD) continue;
      const type = op[node] as number;
      counts.set(type, (counts.get(type) ?? 0) + 1);
    }
    const told = [...counts].sort(([one], [other]) => one - other).join();
    return `${box.type} ${box.label.replace(/\d+/g, "").replace(/_+$/, "")} ${told}`;
  }

  /** Boxes of the same structure and of the same name but for numbers as one box, wherever they stand. */
  #foldedAlike(above: Box, siblings: readonly Box[]): readonly Box[] {
    const alike = new Map<string, Box[]>();
    for (const box of siblings) {
      const key = `${box.kind} ${this.#signature(box)}`;
      const known = alike.get(key);
      if (known) known.push(box);
      else alike.set(key, [box]);
    }
    if (this.#members.has(above) && alike.size === 1) return siblings; // which are what was folded
    return [...alike.values()].flatMap((members) => {
      const isFold = members.length >= LEAST_ALIKE && members.every(({ times }) => times === 1);
      const label = (members[0] as Box).label;
      return isFold ? [this.#together("repeat", above, members, label, members.length)] : members;
    });
  }

  /** The largest boxes, and the others in one. */
  #limited(above: Box, boxes: readonly Box[]): readonly Box[] {
    const drawn = boxes.filter((box) => !this.#isAsideBox(box));
    const seen = drawn.length > MANY_SIBLINGS ? this.#foldedAlike(above, drawn) : drawn;
    if (seen.length <= MOST_BOXES) return seen;
    const bySize = [...seen].sort((one, other) => other.nodes.length - one.nodes.length);
    const kept = new Set(bySize.slice(0, MOST_BOXES - 1));
    const rest = seen.filter((box) => !kept.has(box));
    const label = `${rest.length.toLocaleString("en")} more`;
    return [...seen.filter((box) => kept.has(box)), this.#together("group", above, rest, label)];
  }

  #isAsideBox({ nodes }: Box): boolean {
    return nodes.every((node) => this.isAside[node]);
  }
}

/** The boxes of a profile, which are kept with it. */
export function graphBoxes(profile: Profile): GraphBoxes {
  return cacheOf(profile).kept("graph boxes", () => new GraphBoxes(profile));
}

/** What several siblings are called: the first, and how many more. */
function spanOf(boxes: readonly Box[], count: number): string {
  return `${(boxes[0] as Box).label} +${count - 1}`;
}

function joinedInOrder(parts: readonly Int32Array[]): Int32Array {
  const found = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    found.set(part, at);
    at += part.length;
  }
  return found.sort();
}

/** The nodes below a scope by the next part of their names; the part is empty for the node that is called like it. */
function partsBelow(names: readonly string[], nodes: Int32Array, scope: string): Map<string, number[]> {
  const from = scope ? scope.length + 1 : 0;
  const groups = new Map<string, number[]>();
  for (const node of nodes) {
    const name = names[node] as string;
    const slash = name.indexOf("/", from);
    const part = name.length <= from ? "" : name.slice(from, slash < 0 ? undefined : slash);
    const known = groups.get(part);
    if (known) known.push(node);
    else groups.set(part, [node]);
  }
  return groups;
}

function lastPartOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** Whether sorted nodes have this one among them. */
function holds(nodes: Int32Array, node: number): boolean {
  let [low, high] = [0, nodes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((nodes[middle] as number) < node) low = middle + 1;
    else high = middle;
  }
  return nodes[low] === node;
}
