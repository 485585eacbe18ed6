// Replays steps with the browser's code: `node replayed.mjs COLUMNS`, the cases as JSON on the standard input.
//
// Prints the reason why steps cannot be replayed, or what each case leads to, in nanoseconds.

import { readFileSync } from "node:fs";
import { browserCode } from "../../browser_code.mjs";

const { decode, replayOf, changedNodes } = await browserCode({
  "data/wire.ts": "decode",
  "analysis/replay.ts": "replayOf",
  "state/what_if.ts": "changedNodes",
});

const profile = decode(new Uint8Array(readFileSync(process.argv[2])));
const replay = replayOf(profile);
const answers = JSON.parse(readFileSync(0, "utf-8")).map(({ name, key, factor }) => {
  const flags = changedNodes(profile, replay, [name], key.startsWith("layer:"));
  return replay.whatIf(Float64Array.from(flags, (flag) => (flag ? factor : 1)));
});
console.log(JSON.stringify(typeof replay === "string" ? replay : answers));
