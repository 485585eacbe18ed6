// The graphs of a widget: each with its profile, how it was measured, the advice on it, and the tasks it ran on.

import type { Model } from "./model.ts";
import type { Profile } from "./profile.ts";
import type { Tab } from "./protocol.ts";
import { decode } from "./wire.ts";

/** A fact of the head line: how it was measured, in a word or two, and in full on hover. */
export interface Fact {
  readonly label: string;
  readonly value: string;
  readonly help: string;
}

/** What a checker says: plain text from tfprof's own, findings from the others. */
export interface Advice {
  readonly checker: string;
  readonly title: string;
  /** What it looks for, and what it needs to be able to say something. */
  readonly looksFor: string;
  readonly reports: readonly (string | Finding)[];
}

/** What may be wrong, where that can be seen, and what to do. */
export interface Finding {
  readonly cause: string;
  readonly evidence: Evidence;
  readonly fix: string;
  /** Of the cell, or of a step where no cell was captured; 0 where it is not known. */
  readonly share: number;
  /** The user's line that it names. */
  readonly line?: OwnLine | null;
  readonly patch?: Patch | null;
}

/** A line of the user's code: as it is told, and as the code view has it. */
interface OwnLine {
  readonly place: string;
  readonly file: string;
  readonly line: number;
}

/** What to change in the user's code: lines that stay, go (`- `) and come (`+ `), and what stands there afterwards. */
export interface Patch {
  readonly line: OwnLine;
  readonly lines: readonly string[];
  readonly after: string;
  /** What else changes with it. */
  readonly effect: string;
}

/** A part of a cell or of a step, with its share in percent and, where that is known, the line with most of it. */
export interface Part {
  readonly key: string;
  readonly name: string;
  readonly nanos: number;
  readonly share: number;
  readonly detail: string;
}

/** Some steps one after another: their usual time and their longest; `traced` is a step in the profile, or -1. */
export interface StepBar {
  readonly first: number;
  readonly count: number;
  readonly nanos: number;
  readonly most: number;
  readonly traced: number;
}

/** `Overview.to_browser` of tfprof_widget/analysis/advisor/overview.py, in which parts and bars are lists. */
export interface Overview {
  readonly sentence: string;
  /** Whether the sentence is about the finding with the largest share. */
  readonly leads: boolean;
  readonly cell: readonly Part[];
  readonly step: readonly Part[];
  readonly bars: readonly StepBar[];
  /** What there is to say of all steps. */
  readonly steps: readonly string[];
}

/** A tab, the options of a view by the names that Python has for them, and the rows to look at. */
export interface Evidence {
  readonly view: Tab;
  readonly options: Readonly<Record<string, unknown>>;
  readonly selection: readonly string[];
}

/** What was put together or left out because the browser does not take the whole; see tfprof_widget/cutting. */
export interface Cut {
  /** How many nodes the graph has, and how many of them are here by themselves. */
  readonly nodes: number;
  readonly kept: number;
  /** How many rows stand for the others. */
  readonly rows: number;
  /** The steps all of whose executions are here. */
  readonly steps: readonly number[];
}

/** A graph, as Python describes it. */
export interface Description {
  readonly name: string;
  /** Which runs are shown at first. */
  readonly runNameRegexes: readonly string[];
  readonly columns: Uint8Array | DataView;
  /** Of the steps that are shown at first. */
  readonly facts: readonly Fact[];
  /** What the head line says of other steps, by their name. */
  readonly factsOfSteps: Readonly<Record<string, readonly Fact[]>>;
  /** The nanoseconds of the ops of each step, and those in which any ran; empty where no capture told. */
  readonly stepUse: readonly (readonly [work: number, busy: number])[];
  readonly notes: readonly string[];
  /** Why the memory that is shown is too low; empty where it is not. */
  readonly memoryNote: string;
  readonly overview: Overview;
  readonly advice: readonly Advice[];
  /** What is known of its tasks and transfers; null where there is one task and no transfer. */
  readonly cluster: Cluster | null;
  /** What is known of its accelerators; undefined where there are none. */
  readonly accelerators?: Accelerators;
  /** What is not here of a graph that is too large, null where all is. */
  readonly cut: Cut | null;
  /** How often other columns of it were shown. */
  readonly cuts?: number;
}

/** A graph; its profile is read when first looked at. */
export interface Graph extends Omit<Description, "columns"> {
  readonly profile: Profile;
}

/** The graphs of a model. */
export function graphsOf(model: Model): readonly Graph[] {
  return ((model.get("_graphs") as readonly PythonDescription[] | undefined) ?? []).map((graph) =>
    graphOf({
      ...(graph as unknown as Description),
      overview: overviewOf(graph.overview as ToldOverview),
      advice: camelCased(graph.advice) as readonly Advice[],
      cluster: camelCased(graph.cluster) as Cluster | null,
    }),
  );
}

type ToldOverview = Omit<Overview, "cell" | "step" | "bars"> &
  Readonly<Record<"cell" | "step" | "bars", readonly (readonly unknown[])[]>>;

function overviewOf(told: ToldOverview): Overview {
  return {
    ...told,
    cell: partsOf(told.cell),
    step: partsOf(told.step),
    bars: named<StepBar>(told.bars, ["first", "count", "nanos", "most", "traced"]),
  };
}

/** The parts of a bar. */
export function partsOf(rows: readonly (readonly unknown[])[]): readonly Part[] {
  return named<Part>(rows, ["key", "name", "nanos", "share", "detail"]);
}

/** Rows whose columns have these names. */
function named<Row>(rows: readonly (readonly unknown[])[], names: readonly (keyof Row)[]): readonly Row[] {
  return rows.map((row) => Object.fromEntries(names.map((name, place) => [name, row[place]])) as Row);
}

/** A graph as it comes: what has a name of several words is spelled as in Python. */
type PythonDescription = Readonly<Record<keyof Description, unknown>>;

/** The same with names spelled as here; the options of evidence are looked up by the names that Python has for them. */
export function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, each]) => [
    name.replace(/_./g, (start) => start.charAt(1).toUpperCase()),
    name === "options" ? each : camelCased(each),
  ]);
  return Object.fromEntries(entries);
}

/** A graph of a description. */
export function graphOf({ columns, ...description }: Description): Graph {
  let profile: Profile | undefined;
  return {
    ...description,
    get profile() {
      profile ??= decode(columns);
      return profile;
    },
  };
}

/** What `_accelerators` of tfprof_widget/widget/shown.py tells. */
export interface Accelerators {
  readonly devices: readonly (readonly [name: string, facts: string])[];
  /** What each did in each step; `device` is an index of these devices. */
  readonly steps: readonly (readonly [
    step: number,
    device: number,
    compute: number,
    collectives: number,
    copies: number,
    idle: number,
  ])[];
  readonly allocators: readonly Allocator[];
  /** As the class KernelRuns has its fields, the costliest first. */
  readonly kernels: readonly (readonly [
    node: string,
    device: string,
    stream: number,
    kernel: string,
    grid: string,
    block: string,
    registers: number,
    sharedBytes: number,
    occupancy: number,
    accessedBytes: number,
    runs: number,
    nanos: number,
    launches: number,
    delayNanos: number,
  ])[];
}

/** An allocator: the most that it had in use, what its device has or 0, and the curve. */
export interface Allocator {
  readonly name: string;
  readonly device: string;
  readonly peak: number;
  readonly capacity: number;
  readonly nanos: readonly number[];
  readonly bytes: readonly number[];
}

/** A task: what its devices did, and what they got from and gave to others. */
export interface Task {
  /** As in `/job:ps/replica:0/task:0`. */
  readonly task: string;
  readonly parameters: number;
  readonly variables: number;
  readonly operationNanos: number;
  readonly busyNanos: number;
  readonly idleNanos: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly transferNanos: number;
  readonly waitNanos: number;
  /** In which part of the time of its transfers it computed; null where it had none. */
  readonly overlap: number | null;
  readonly offsetNanos: number;
  readonly offsetErrorNanos: number | null;
  readonly waitedForNanos: number;
}

/** What went from one to another. */
interface Moved {
  readonly source: string;
  readonly target: string;
  readonly kind: string;
  readonly count: number;
  readonly bytes: number;
  readonly transferNanos: number;
  readonly waitNanos: number;
}

/** All that went from one task to another in one way. */
export type Link = Moved;

/** A tensor on its way from one device to another. */
export interface MovedTensor extends Moved {
  readonly tensor: string;
}

/** `ClusterSummary.described` of tfprof_widget/analysis/cluster/summary.py. */
export interface Cluster {
  readonly tasks: readonly Task[];
  readonly links: readonly Link[];
  readonly transfers: readonly MovedTensor[];
  readonly transfersLeftOut: number;
  /** The most parameters that a server holds, and the mean of all. */
  readonly parameterBalance: { readonly largest: number; readonly mean: number } | null;
  readonly straggler: { readonly task: string; readonly text: string } | null;
  readonly steps: number;
  readonly notes: readonly string[];
}
