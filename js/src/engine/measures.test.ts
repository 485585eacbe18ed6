// What nodes cost: in a step, in the mean of steps, by both clocks, and never by a sum that is not exact.

import { describe, expect, test } from "vitest";
import { OptionError, ProfileError, withDefaults } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import type { Options } from "../data/protocol.ts";
import { evaluate } from "./evaluate.ts";
import { type Measure, measures } from "./measures.ts";
import { profileOf } from "./testing.ts";

/** The values as fractions in words, so that thirds are exact. */
function costs(profile: Profile, options: Partial<Options> = {}, measure: Measure = "micros"): string[] {
  const found = measures(profile, withDefaults(options));
  const unit = found.unit(measure);
  return Array.from(found.column(measure), (value) => {
    const divisor = greatestCommonDivisor(Math.abs(value), unit);
    return unit === divisor ? String(value / divisor) : `${value / divisor}/${unit / divisor}`;
  });
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other);
}

// Rows are in byte order of name: every, never, some.
const STEPS = profileOf(`
  every = Op() 10us;11us;13us 3B 7flops 8params
  some  = Op() 1us+2us;-;600ns
  never = Op() 2flops
`);

describe("time", () => {
  test.each<[Partial<Options>, string[]]>([
    [{ step: 0 }, ["10", "0", "3"]],
    [{ step: 1 }, ["11", "0", "0"]],
    [{ step: 2 }, ["13", "0", "3/5"]],
    [{}, ["34/3", "0", "9/5"]],
    [{ timing: "tfprof" }, ["11", "0", "2"]],
    [{ timing: "tfprof", step: 2 }, ["13", "0", "1"]],
    [{ runNameRegexes: ["even"] }, ["23/2", "0", "9/5"]],
    [{ runNameRegexes: ["odd"] }, ["11", "0", "0"]],
  ])("%j", (options, expected) => {
    expect(costs(STEPS, options)).toEqual(expected);
  });
});

test("a mean is over all steps of the kinds that a node runs in", () => {
  // Steps are even or odd by their number: a runs in one of two even ones, b in one even and one odd one of four.
  const profile = profileOf("a = Op() 8us;-;-;-\nb = Op() 8us;-;-;8us");
  expect(costs(profile)).toEqual(["4", "4"]);
  expect(costs(profile, { timing: "tfprof" })).toEqual(["8", "8"]);
  expect(costs(profile, { runNameRegexes: ["odd"] })).toEqual(["0", "4"]);
});

test("runs and bytes are means too", () => {
  expect(costs(STEPS, {}, "runs")).toEqual(["1", "0", "3/2"]);
  expect(costs(STEPS, { timing: "tfprof" }, "runs")).toEqual(["1", "0", "1"]);
  expect(costs(STEPS, {}, "bytes")).toEqual(["3", "0", "0"]);
});

test("float operations count as often as the node ran once it has run at all", () => {
  const profile = profileOf(`
    loop = Op() 1us+1us+1us;- 7flops
    not  = Op() 7flops
    step = Op() 1us;1us
  `);
  expect(costs(profile, { step: 0 }, "float_ops")).toEqual(["21", "7", "0"]);
  expect(costs(profile, { step: 1 }, "float_ops")).toEqual(["0", "7", "0"]);
  expect(costs(profile, {}, "float_ops")).toEqual(["21", "7", "0"]);
  expect(costs(profile, { timing: "tfprof" }, "float_ops")).toEqual(["21", "7", "0"]);
});

test("parameters do not depend on the step", () => {
  for (const options of [{}, { step: 1 }, { timing: "tfprof" }] as const) {
    expect(costs(STEPS, options, "params")).toEqual(["8", "0", "0"]);
  }
});

/** A node that ran 1 microsecond in its first step and 2 in each other: in the mean of n steps (2n - 1) / n. */
function ran(name: string, steps: number): string {
  return `${name} = Op() ${["1us", ...Array<string>(steps - 1).fill("2us")].join(";")}`;
}

describe("float operations by step", () => {
  const profile = profileOf("a = Op() 1us+1us;1us;1us 7flops\nb = Op() 1us 5flops\nc = Op() 2flops");
  const inSteps = {
    ...profile,
    stepTotals: { ...profile.stepTotals, floatOps: Float64Array.of(14, 3, 4, 5) },
  };

  test("each step has its own", () => {
    expect(costs(inSteps, { step: 0 }, "float_ops")).toEqual(["14", "5", "2"]);
    expect(costs(inSteps, { step: 1 }, "float_ops")).toEqual(["3", "0", "2"]);
    expect(costs(profile, { step: 1 }, "float_ops")).toEqual(["7", "0", "2"]);
  });

  test("means are of what the steps took; steps 0 and 2 are of one kind", () => {
    expect(costs(inSteps, {}, "float_ops")).toEqual(["7", "5/2", "2"]);
    expect(costs(inSteps, { runNameRegexes: ["even"] }, "float_ops")).toEqual(["9", "5/2", "2"]);
  });

  test("native's rule is one count for all", () => {
    expect(costs(inSteps, { timing: "tfprof", step: 1 }, "float_ops")).toEqual(["7", "0", "2"]);
  });

  test("a sum over steps beyond 2**53 has a mean below", () => {
    const large = profileOf("a = Op() 1us;-;1us;-;1us");
    const took = Float64Array.of(2 ** 53 - 1, 2 ** 53 - 3, 2 ** 53 - 4);
    const found = { ...large, stepTotals: { ...large.stepTotals, floatOps: took } };
    expect(costs(found, { runNameRegexes: ["even"] }, "float_ops")).toEqual([String(2n ** 53n - 3n)]);
    took[1] = 2 ** 53;
    expect(() => costs({ ...found }, {}, "float_ops")).toThrow(/^float_ops: the values add up to 2\*\*53/);
  });
});

test("a mean over many steps stays exact", () => {
  const profile = profileOf([ran("a", 18), ran("b", 1)].join("\n"));
  expect(costs(profile)).toEqual(["35/18", "1/9"]);
});

test("a mean without a handy denominator is off by less than a picosecond", () => {
  const profile = profileOf([ran("a", 5051), ran("b", 1)].join("\n"));
  const found = measures(profile, withDefaults());
  expect(found.unit("micros")).toBe(5_040_000);
  [10101 / 5051, 1 / 2526].forEach((micros, node) => {
    const value = found.column("micros")[node] as number;
    expect(Number.isInteger(value)).toBe(true);
    expect(Math.abs(value / 5_040_000 - micros)).toBeLessThan(1e-6);
  });
});

test("negative values are kept, and native's mean is cut towards 0", () => {
  const profile = profileOf("a = Op() 1us;1us");
  const { stepTotals } = profile;
  stepTotals.cpuMicros.set([-7, -4]);
  stepTotals.cpuNanos.set([-7000, -4000]);
  expect(costs(profile)).toEqual(["-11/2"]);
  expect(costs(profile, { timing: "tfprof" })).toEqual(["-5"]);
});

test("a step or run that is not there is told the ones that are", () => {
  expect(() => costs(STEPS, { step: 7 })).toThrow(
    new OptionError("step", "7 is not in the profile; its steps are 0, 1, 2"),
  );
  expect(() => costs(profileOf("a = Op()"), { step: 0 })).toThrow("none: no run metadata was given");
  expect(() => costs(STEPS, { runNameRegexes: ["train"] })).toThrow(
    new OptionError("run_name_regexes", 'no run matches; the runs are "even", "odd"'),
  );
});

describe("beyond 2**53", () => {
  test("a mean that its common denominator makes too large is rounded", () => {
    const profile = profileOf("a = Op() 1us;1us;1us\nb = Op() 1us;1us");
    profile.stepTotals.requestedBytes.set([0, 0, 2 ** 52]); // 2**52 is 3n + 1
    expect(costs(profile, {}, "bytes")).toEqual([String((2 ** 52 - 1) / 3), "0"]);
    expect(costs(profile)).toEqual(["1", "2/3"]);
  });

  test("a mean is rounded right where half of its steps cannot be added to its sum", () => {
    const profile = profileOf(`a = Op() ${Array<string>(107).fill("1us").join(";")}`);
    profile.stepTotals.requestedBytes.set([2 ** 53 - 52]); // 107 times 84179432287298.505
    expect(costs(profile, {}, "bytes")).toEqual(["84179432287299"]);
  });

  test("float operations are rounded right where their product with the runs is no double", () => {
    const profile = profileOf("a = Op() 1us;1us;1us 7835859154068329flops\nb = Op() 1us;1us");
    profile.stepTotals.runCount.set([2, 0, 0]); // 2/3 of a run: 5223906102712219.33 operations
    expect(costs(profile, {}, "float_ops")).toEqual(["5223906102712219", "0"]);
    profile.nodes.floatOps.set([-7835859154068329]);
    expect(costs({ ...profile }, {}, "float_ops")).toEqual(["-5223906102712219", "0"]);
  });

  test("float operations that are no double themselves are refused", () => {
    const profile = profileOf("a = Op() 1us;1us");
    profile.stepTotals.runCount.set([1, 0]);
    for (const floatOps of [2 ** 53, -(2 ** 53)]) {
      profile.nodes.floatOps.set([floatOps]);
      expect(() => measures({ ...profile }, withDefaults())).toThrow(
        /^float_ops: the values add up to 2\*\*53/,
      );
    }
  });

  test("float operations are rounded too", () => {
    const profile = profileOf(`a = Op() 1us+1us;1us ${2 ** 52 - 2}flops`);
    expect(costs(profile, {}, "runs")).toEqual(["3/2"]);
    expect(costs(profile, {}, "float_ops")).toEqual([String(3 * 2 ** 51 - 3)]);
  });

  test.each<[string, string, Measure]>([
    ["bytes", `${2 ** 52}B`, "bytes"],
    ["float operations", `${2 ** 52}flops`, "float_ops"],
    ["parameters", `${2 ** 52}params`, "params"],
  ])("%s that add up to more are refused", (_, amount, measure) => {
    const one = profileOf(`a = Op() 1us ${amount}`);
    expect(costs(one, {}, measure)).toEqual([String(2 ** 52)]);
    const two = profileOf(`a = Op() 1us ${amount}\nb = Op() 1us ${amount}`);
    expect(() => costs(two, {}, measure)).toThrow(new RegExp(`^${measure}: the values add up to 2\\*\\*53`));
  });

  test("a node that counts several times may count too much", () => {
    const profile = profileOf(`a = Op() 1us ${2 ** 51}B`);
    const accountTypeRegexes = ["O.*", ".*p", ".*O.*", ".*p.*"];
    const bytes = (timing: Options["timing"]) =>
      evaluate(profile, "op", withDefaults({ accountTypeRegexes, timing })).total("bytes");
    expect(Array.from(bytes("exact"))).toEqual([2 ** 51]);
    expect(() => bytes("tfprof")).toThrow(ProfileError);
  });
});
