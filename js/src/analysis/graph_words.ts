// What is known of the boxes of a picture, and how that is said: what a box is and takes, what comes in and goes out.

import { share, short, shortTime, visible } from "../lib/format.ts";
import type { Box } from "./graph_boxes.ts";
import type { Scene, SceneBox } from "./graph_scene.ts";

/** What boxes are filled by. */
export const FILLS = ["time", "memory", "FLOP"] as const;
export type Fill = (typeof FILLS)[number];

/** The measure behind each. */
export const FILL_MEASURES = { time: "micros", memory: "bytes", FLOP: "float_ops" } as const;

/** From this part of its time on a box counts as one on the critical path. */
export const LEAST_ON_PATH = 0.1;

interface CriticalLook {
  /** The part of the time of each box that is on it, and that time in microseconds. */
  readonly onPath: readonly number[];
  readonly micros: readonly number[];
  /** In microseconds. */
  readonly slack: readonly number[];
  /** Whether what goes along each edge comes from the path. */
  readonly edges: readonly boolean[];
}

/** What the boxes of a picture are and cost, by their places in it. */
export interface GraphLook {
  readonly fill: Fill;
  /** What each box takes, and all together: in microseconds, bytes or float operations. */
  readonly values: readonly number[];
  readonly whole: number;
  /** The times of forward, backward and update of each box. */
  readonly passes: readonly (readonly number[])[];
  /** The bytes that go along each edge. */
  readonly bytes: readonly number[];
  /** Which boxes are selected themselves (2), or hold something that is (1). */
  readonly selected: readonly number[];
  /** Which boxes hold what is searched for; null while nothing is. */
  readonly found: readonly boolean[] | null;
  /** How far each box is on the critical path; null where that is not known. */
  readonly critical: CriticalLook | null;
  /** Which boxes can be opened. */
  readonly opens: readonly boolean[];
  readonly cursor: number;
  readonly hovered: number;
}

/** What a box is called, and what stands below: its class, and what it takes. */
export function wordsOf(box: Box, value: number, fill: Fill): readonly [title: string, detail: string] {
  const title = visible(box.label) + (box.times > 1 ? ` × ${box.times}` : "");
  const nodes = box.nodes.length / box.times;
  const told = box.kind === "layer" && box.type === "scope" ? "" : visible(box.type);
  const what = box.times > 1 ? `${Math.round(nodes).toLocaleString("en")} nodes each` : told;
  return [title, [what, value ? amountOf(value, fill) : ""].filter(Boolean).join(" · ")];
}

/** A value in its unit. */
export function amountOf(value: number, fill: Fill): string {
  return fill === "FLOP" ? `${short("float_ops", value)} FLOP` : short(FILL_MEASURES[fill], value);
}

/** A box in a sentence: what it is, what it takes, what comes in and goes out. */
export function sentenceOf(scene: Scene, look: GraphLook, at: number): string {
  const each = scene.boxes[at] as SceneBox;
  const value = look.values[at] as number;
  const [title, detail] = wordsOf(each.box, 0, look.fill);
  const nodes = each.box.nodes.length;
  const ends = (isInto: boolean): string => {
    const near = scene.edges.flatMap((edge, place) => {
      const [here, there] = isInto ? [edge.to, edge.from] : [edge.from, edge.to];
      const isControl = !edge.sources.length;
      return here === at ? [{ there, isControl, bytes: look.bytes[place] as number }] : [];
    });
    const told = near.slice(0, 4).map(({ there, isControl, bytes }) => {
      const name = there < 0 ? "outside" : wordsOf((scene.boxes[there] as SceneBox).box, 0, look.fill)[0];
      return isControl ? `${name} (control)` : bytes ? `${name} (${short("bytes", bytes)})` : name;
    });
    if (near.length > 4) told.push(`${near.length - 4} more`);
    return told.length
      ? `${isInto ? "from" : "to"} ${told.join(", ")}`
      : `${isInto ? "no inputs" : "no outputs"} drawn`;
  };
  const state = each.isOpen ? "open" : look.opens[at] ? "closed" : "";
  const [onPath, slack] = [look.critical?.onPath[at] ?? 0, look.critical?.slack[at] ?? 0];
  const critical = onPath
    ? `${share(onPath, 1)} of its time on the critical path`
    : slack > 0
      ? `not on the critical path: it could end ${shortTime(slack)} later`
      : "";
  return [
    [title, detail].filter(Boolean).join(", "),
    value ? `${amountOf(value, look.fill)}, ${share(value, look.whole)} of all` : "",
    nodes > 1 ? `${nodes.toLocaleString("en")} nodes` : "",
    state,
    critical,
    ends(true),
    ends(false),
  ]
    .filter(Boolean)
    .join("; ");
}
