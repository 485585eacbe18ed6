// Options of any value, and what is typed for them: an OptionError or a reason says what is wrong with it.

import fc from "fast-check";
import { expect, test } from "vitest";
import { OptionError, ProfileError, withDefaults } from "../src/data/options.ts";
import { OPTIONS, type Options, VIEWS } from "../src/data/protocol.ts";
import { evaluate } from "../src/engine/evaluate.ts";
import { profileOf } from "../src/engine/testing.ts";
import { joinRegexes, readQuantity, splitRegexes } from "../src/lib/typed_text.ts";
import { PATIENCE_MILLISECONDS, runs, undocumented } from "./runs.ts";

const PROFILE = profileOf(`
  layer/w      = VariableV2() 2us;4us 128B 32params | run.py:10:main
  layer/MatMul = MatMul(layer/w) 100us;140us 512flops | run.py:10:main > model.py:20:layer
`);
const PIECES = [
  "a",
  ".*",
  ",",
  " ",
  "(",
  ")",
  "[",
  "]",
  "[^",
  "{1,2}",
  "{",
  "}",
  "\\",
  "\\Q",
  "\\E",
  "|",
  "[:alpha:]",
  "-",
];

const anyValue = fc.oneof(
  fc.anything(),
  fc.integer(),
  fc.constantFrom(-1, 2 ** 53, 2 ** 53 - 1, Number.NaN, Number.POSITIVE_INFINITY),
  fc.constantFrom(...OPTIONS.flatMap(({ choices = [] }) => choices)),
  fc.array(fc.string()),
);
const line = fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((pieces) => pieces.join(""));

test(
  "options of any value",
  () => {
    const changes = fc.dictionary(fc.constantFrom(...OPTIONS.map(({ key }) => key)), anyValue, {
      maxKeys: 3,
    });
    fc.assert(
      fc.property(fc.constantFrom(...VIEWS), changes, (view, given) => {
        try {
          evaluate(PROFILE, view, withDefaults(given as Partial<Options>));
        } catch (error) {
          const slip = undocumented(error, OptionError, ProfileError);
          if (slip) throw slip;
        }
      }),
      runs(500),
    );
  },
  PATIENCE_MILLISECONDS,
);

test(
  "quantities of any spelling",
  () => {
    const unit = fc.constantFrom("µs", "B", "" as const);
    const typed = fc.oneof(
      fc.string(),
      fc
        .array(
          fc.constantFrom("1", "9", "0", ".", "e", "+", "-", ",", "_", " ", "k", "ms", "GiB", "min", "µs"),
        )
        .map((all) => all.join("")),
    );
    fc.assert(
      fc.property(typed, unit, fc.integer({ min: -1, max: 1 }), (text, counted, minimum) => {
        const read = readQuantity(text, counted as "µs" | "B" | "", minimum);
        if ("value" in read) expect(Number.isSafeInteger(read.value) && read.value >= minimum).toBe(true);
        else expect(read.reason).not.toBe("");
      }),
      runs(500),
    );
  },
  PATIENCE_MILLISECONDS,
);

test(
  "a list of regexes is the same when it has been written and read again",
  () => {
    fc.assert(
      fc.property(line, (text) => {
        const regexes = splitRegexes(text);
        expect(splitRegexes(joinRegexes(regexes))).toEqual(regexes);
      }),
      runs(500),
    );
  },
  PATIENCE_MILLISECONDS,
);
