// The columns of a profile, as wire.ts reads them, and what was computed from them before.

/** Many short lists in one array: list `i` is `values.subarray(start[i], start[i + 1])`. */
export interface Lists {
  readonly start: Int32Array;
  readonly values: Int32Array;
}

/** The graph nodes, sorted by name in the order of code points; -1 stands for what is absent. */
export interface Nodes {
  readonly names: readonly string[];
  readonly ops: readonly string[];
  readonly op: Int32Array;
  readonly typeNames: readonly string[];
  readonly types: Lists;
  readonly devices: readonly string[];
  readonly device: Int32Array;
  readonly shapes: readonly string[];
  readonly shape: Int32Array;
  readonly outputShapes: Lists;
  readonly inputs: Lists;
  /** The output that each input takes, -1 for a control input. */
  readonly inputPorts: Int32Array;
  readonly parameters: Float64Array;
  readonly floatOps: Float64Array;
  /** What native tfprof counts, for `timing: "tfprof"`. */
  readonly nativeFloatOps: Float64Array;
}

/** One row a node and step in which it was seen, sorted by node and then step: its sums over that step. */
export interface StepTotals {
  readonly node: Int32Array;
  readonly step: Int32Array;
  readonly acceleratorNanos: Float64Array;
  readonly cpuNanos: Float64Array;
  readonly acceleratorMicros: Float64Array;
  readonly cpuMicros: Float64Array;
  readonly runCount: Float64Array;
  readonly requestedBytes: Float64Array;
  readonly peakBytes: Float64Array;
  readonly residualBytes: Float64Array;
  readonly outputBytes: Float64Array;
  /** The float operations; absent if each execution of a node took as many as the node has. */
  readonly floatOps?: Float64Array | undefined;
}

/** One row an execution of a node; `device` indexes the devices of the nodes, `thread` the names of `threads`, `startNanos` counts from the first start of its step. */
export interface Executions {
  readonly node: Int32Array;
  readonly step: Int32Array;
  readonly device: Int32Array;
  /** What threads do, in the order in which they are shown; empty where it is not known. */
  readonly threads: readonly string[];
  readonly thread: Int32Array;
  readonly startNanos: Float64Array;
  readonly durationNanos: Float64Array;
}

/** One row an allocation, or a release with negative bytes; `nanos` counts from the first start of its step. */
interface Allocations {
  readonly execution: Int32Array;
  readonly nanos: Float64Array;
  readonly bytes: Float64Array;
}

/**
 * One row a tensor that a device got from another; `source` and `target` index these devices, `startNanos` counts from
 * the first start of its step. `node` made the tensor, or is -1.
 */
export interface Transfers {
  readonly devices: readonly string[];
  readonly tensors: readonly string[];
  readonly kinds: readonly string[];
  readonly step: Int32Array;
  readonly kind: Int32Array;
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly tensor: Int32Array;
  readonly node: Int32Array;
  readonly startNanos: Float64Array;
  readonly durationNanos: Float64Array;
  readonly bytes: Float64Array;
}

/** The Python stacks in which nodes were created, each distinct frame and stack once, outermost frame first. */
export interface Traces {
  readonly strings: readonly string[];
  readonly file: Int32Array;
  readonly line: Int32Array;
  readonly function: Int32Array;
  readonly source: Int32Array;
  readonly stacks: Lists;
  readonly stack: Int32Array;
  /** Of a gradient whose name does not tell its forward node, that node; else -1. */
  readonly forward: Int32Array;
}

/** Everything known of a graph and its runs. */
export interface Profile {
  readonly nodes: Nodes;
  readonly steps: readonly number[];
  readonly stepNames: readonly string[];
  /** Which worker ran each step; empty where all are one process's. */
  readonly stepWorkers: readonly string[];
  readonly executions: Executions;
  readonly allocations: Allocations;
  readonly transfers: Transfers;
  readonly stepTotals: StepTotals;
  readonly traces: Traces;
  /** Reads a column that only panels need, as it was sent; undefined where it was not. */
  readonly late?: (name: string, kind: "indices" | "numbers" | "texts", isOptional?: boolean) => unknown;
}

// What a few views of a few steps need.
const RECENT = 24;

/** Results by key. */
export class Cache {
  readonly #lasting = new Map<string, unknown>();
  readonly #latest = new Map<string, unknown>();

  /** What was made under this key, or what `make` makes now. */
  kept<Found>(key: string, make: () => Found): Found {
    if (!this.#lasting.has(key)) this.#lasting.set(key, make());
    return this.#lasting.get(key) as Found;
  }

  /** As `kept`, but of these only the ones asked for last are held. */
  recent<Found>(key: string, make: () => Found): Found {
    const found = this.#latest.has(key) ? (this.#latest.get(key) as Found) : make();
    this.#latest.delete(key); // a Map is in the order of insertion, so this one becomes the youngest
    this.#latest.set(key, found);
    for (const oldest of this.#latest.keys()) {
      if (this.#latest.size <= RECENT) break;
      this.#latest.delete(oldest);
    }
    return found;
  }
}

const caches = new WeakMap<Profile, Cache>();

/** The cache of a profile, which goes when the profile goes. */
export function cacheOf(profile: Profile): Cache {
  const found = caches.get(profile) ?? new Cache();
  caches.set(profile, found);
  return found;
}
