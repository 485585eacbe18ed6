// The edges of a graph: which nodes are put aside, where edges lead to, and the bytes that go along them.

import type { Lists, Profile } from "../data/profile.ts";
import type { Numbers } from "../engine/columns.ts";
import type { Measures } from "../engine/measures.ts";

const ASIDE = /^(Const|HostConst|_?VarHandleOp|Variable(V2)?|ReadVariableOp|NoOp|Assert|_(Device)?Retval)$/;
const VARIABLE = /^(VarHandleOp|Variable(V2)?)$/;
const HANDED_IN = /^(_Arg|_DeviceArg|Placeholder|PlaceholderWithDefault)$/;

/** A flag a node that is put aside. */
export function asideIn({ nodes }: Profile): Uint8Array {
  const { ops, op, inputs } = nodes;
  const isAsideType = ops.map((type) => ASIDE.test(type));
  const flags = Uint8Array.from(op, (type) => (isAsideType[type] ? 1 : 0));
  const isVariable = ops.map((type) => VARIABLE.test(type));
  const isIdentity = ops.map((type) => type === "Identity");
  const isHandedIn = ops.map((type) => HANDED_IN.test(type));
  const isSeen = new Uint8Array(op.length);
  const isTaken = new Uint8Array(op.length);
  for (let node = 0; node < op.length; node++) {
    const [first, last] = [inputs.start[node] as number, inputs.start[node + 1] as number];
    const source = inputs.values[first] as number;
    const isRead = isIdentity[op[node] as number] && last > first && source >= 0;
    if (isRead && isVariable[op[source] as number]) flags[node] = 1;
    for (let at = first; at < last; at++) {
      const each = inputs.values[at] as number;
      if (each >= 0) isTaken[each] = 1;
      if (each >= 0 && !flags[node]) isSeen[each] = 1;
    }
  }
  // A variable that is handed in is taken by nothing but what reads it.
  for (let node = 0; node < op.length; node++) {
    if (isHandedIn[op[node] as number] && isTaken[node] && !isSeen[node]) flags[node] = 1;
  }
  return flags;
}

/** Those of some nodes that take from others, or from some of them that do. */
export function takersIn(
  nodes: ReadonlySet<number>,
  inputs: Lists,
  { start, values }: Lists,
  isAside: Uint8Array,
): ReadonlySet<number> {
  const takesOthers = (node: number): boolean => {
    for (let at = inputs.start[node] as number; at < (inputs.start[node + 1] as number); at++) {
      const source = inputs.values[at] as number;
      if (source >= 0 && !nodes.has(source) && !isAside[source]) return true;
    }
    return false;
  };
  const found = new Set([...nodes].filter(takesOthers));
  for (const node of found) {
    for (let at = start[node] as number; at < (start[node + 1] as number); at++) {
      const target = values[at] as number;
      if (nodes.has(target)) found.add(target);
    }
  }
  return found;
}

/** The edges by their sources. */
export function targetsOf({ start, values }: Lists, count: number): Lists {
  const starts = new Int32Array(count + 1);
  for (const source of values) if (source >= 0) starts[source + 1] = (starts[source + 1] as number) + 1;
  for (let node = 0; node < count; node++) {
    starts[node + 1] = (starts[node + 1] as number) + (starts[node] as number);
  }
  const [next, targets] = [starts.slice(), new Int32Array(starts[count] as number)];
  for (let node = 0; node < count; node++) {
    for (let at = start[node] as number; at < (start[node + 1] as number); at++) {
      const source = values[at] as number;
      if (source < 0) continue;
      targets[next[source] as number] = node;
      next[source] = (next[source] as number) + 1;
    }
  }
  return { start: starts, values: targets };
}

const FLOAT_BYTES = 4;

/** The bytes that each node gives to others in a step: as recorded, else by its shapes, as float32. */
export function outputBytes({ nodes }: Profile, measures: Measures): Numbers {
  const { outputShapes, shapes } = nodes;
  const [recorded, unit] = [measures.column("output_bytes"), measures.unit("output_bytes")];
  const sizes = shapes.map((shape) => {
    const found = shape.split("x").reduce((product, each) => product * Number(each), shape ? FLOAT_BYTES : 0);
    return Number.isFinite(found) && found > 0 ? found : 0;
  });
  return recorded.map((bytes, node) => {
    if (bytes) return bytes / unit;
    let sum = 0;
    for (let at = outputShapes.start[node] as number; at < (outputShapes.start[node + 1] as number); at++) {
      sum += sizes[outputShapes.values[at] as number] ?? 0;
    }
    return sum;
  });
}
