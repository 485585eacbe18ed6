// Columns that were damaged on their way: a ProfileError says so, or every view of them comes out.

import fc from "fast-check";
import { expect, test } from "vitest";
import packed from "../../tests/conformance/columns.jsonl?raw";
import { variablesOf } from "../src/analysis/memory_kinds.ts";
import { OptionError, ProfileError, withDefaults } from "../src/data/options.ts";
import { VIEWS } from "../src/data/protocol.ts";
import { decode } from "../src/data/wire.ts";
import { evaluate, extend } from "../src/engine/evaluate.ts";
import { EXTENSION } from "../src/engine/extension.ts";
import { PATIENCE_MILLISECONDS, runs, undocumented } from "./runs.ts";

extend(EXTENSION);

const HEAD_BYTES = 8;
const NUMBERS = [0, 1, 2, 8, -1, -2, 127, 2 ** 20, 2 ** 31 - 1, -(2 ** 31), 2 ** 53, 1e308, 0.5, Number.NaN];
const VALUES = [...NUMBERS, null, "", "texts", "indices", "numbers", [], {}, true];

const wholes = await Promise.all(
  packed
    .trim()
    .split("\n")
    .slice(0, 3)
    .map((line) => unpacked((JSON.parse(line) as [string, string])[1])),
);

async function unpacked(base64: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The complaint about some columns, empty where all views of them and the last ones come out; any other error is thrown. */
function complaint(columns: Uint8Array): string {
  try {
    const profile = decode(columns);
    const hasTraces = profile.traces.stack.some((stack) => stack >= 0);
    for (const view of VIEWS.filter((each) => each !== "code" || hasTraces)) {
      evaluate(profile, view, withDefaults({ orderBy: "micros", minParams: 0 })).total("micros");
    }
    variablesOf(profile);
    return "";
  } catch (error) {
    const slip = undocumented(error, OptionError, ProfileError);
    if (slip) throw slip;
    return (error as Error).message;
  }
}

/** The columns with another index; those that are left stay where they are. */
function reindexed(whole: Uint8Array, change: (index: Record<string, unknown[]>) => unknown): Uint8Array {
  const length = new DataView(whole.buffer, whole.byteOffset).getUint32(0, true);
  const columns = whole.subarray(HEAD_BYTES + length);
  const index = JSON.parse(new TextDecoder().decode(whole.subarray(HEAD_BYTES, HEAD_BYTES + length)));
  let head = JSON.stringify(change(index) ?? index);
  head += " ".repeat((HEAD_BYTES - (head.length % HEAD_BYTES)) % HEAD_BYTES);
  const size = new Uint8Array(new BigUint64Array([BigInt(head.length)]).buffer);
  return Uint8Array.from([...size, ...new TextEncoder().encode(head), ...columns]);
}

const whole = fc.constantFrom(...wholes);

test("whole columns are taken", () => {
  for (const each of wholes) expect(complaint(each)).toBe("");
});

test(
  "cut off anywhere",
  () => {
    fc.assert(
      fc.property(whole, fc.double({ min: 0, max: 1, noNaN: true }), (columns, share) => {
        const size = Math.floor(share * (columns.length - HEAD_BYTES));
        expect(complaint(columns.slice(0, size))).toMatch(/damaged|lacks the column/);
      }),
      runs(100),
    );
  },
  PATIENCE_MILLISECONDS,
);

test(
  "numbers changed anywhere",
  () => {
    const change = fc.tuple(fc.nat(), fc.constantFrom(...NUMBERS), fc.constantFrom(1, 4, 8));
    fc.assert(
      fc.property(whole, fc.array(change, { minLength: 1, maxLength: 4 }), (columns, changes) => {
        const changed = columns.slice();
        const view = new DataView(changed.buffer);
        for (const [place, value, width] of changes) {
          const at = Math.floor((place % (changed.length - width)) / width) * width;
          if (width === 1) view.setUint8(at, value);
          else if (width === 4) view.setInt32(at, value, true);
          else view.setFloat64(at, value, true);
        }
        complaint(changed);
      }),
      runs(200),
    );
  },
  PATIENCE_MILLISECONDS,
);

test(
  "another index",
  () => {
    const change = fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...VALUES), fc.nat(), fc.nat(3));
    fc.assert(
      fc.property(whole, fc.array(change, { minLength: 1, maxLength: 3 }), (columns, changes) => {
        const changed = reindexed(columns, (index) => {
          const names = Object.keys(index);
          for (const [which, part, value, other, kind] of changes) {
            const [name, source] = [names[which % names.length], names[other % names.length]] as [
              string,
              string,
            ];
            if (kind === 0) delete index[name];
            else if (kind === 1) index[name] = index[source] as unknown[];
            else if (Array.isArray(index[name])) index[name] = index[name].with(part, value);
          }
          return index;
        });
        complaint(changed);
      }),
      runs(200),
    );
  },
  PATIENCE_MILLISECONDS,
);

test(
  "an index that is none",
  () => {
    fc.assert(
      fc.property(whole, fc.jsonValue(), (columns, index) => {
        expect(complaint(reindexed(columns, () => index ?? []))).not.toBe("");
      }),
      runs(50),
    );
  },
  PATIENCE_MILLISECONDS,
);
