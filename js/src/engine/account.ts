// Which nodes count, and how often: the answer to `account_type_regexes`.

import { cacheOf } from "../data/memory.ts";
import type { Profile } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import type { Flags, Indices } from "./columns.ts";
import { isEverything, Names } from "./matching.ts";

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
