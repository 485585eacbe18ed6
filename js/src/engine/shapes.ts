// The shapes that a node takes in.

import type { Profile } from "../data/profile.ts";
import type { Timing } from "../data/protocol.ts";

/**
 * The shape of each input of a node by index, undefined where it is not known. Native tfprof takes every input for
 * the first output of its source; with the native clock so do we.
 */
export function inputShapes(profile: Profile, node: number, timing: Timing): (string | undefined)[] {
  const { inputs, inputPorts, outputShapes, shapes } = profile.nodes;
  const found: (string | undefined)[] = [];
  for (let i = inputs.start[node] as number; i < (inputs.start[node + 1] as number); i++) {
    const source = inputs.values[i] as number;
    const port = timing === "tfprof" ? 0 : (inputPorts[i] as number);
    const first = outputShapes.start[source] as number;
    const isKnown = source >= 0 && first + port < (outputShapes.start[source + 1] as number);
    found.push(isKnown ? shapes[outputShapes.values[first + port] as number] : undefined);
  }
  return found;
}
