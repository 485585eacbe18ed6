import { describe, expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import type { Profile } from "../data/profile.ts";
import { evaluate } from "../engine/evaluate.ts";
import { profileOf } from "../engine/testing.ts";
import { placeOf, type Roofline, rooflineOf } from "./roofline.ts";

// 1,000 FLOP in 1 µs are a GFLOP/s.
const MODEL = profileOf(`
  a = MatMul() 10us 80000flops
  b = Add()    10us 4000flops
  c = Mul()    10us 1flops
  d = Mystery() 5us
`);
const MOVED = [4000, 16_000, 100, 0];
const KNOWN = [1, 1, 1, 0];

/** The profile with a roof of 10 GFLOP/s and 2 GB/s, or without one. */
function withRoof(rates: readonly number[] = [10e9, 2e9, 8e9, 1e9], words = ["a CPU", ""]): Profile {
  const columns: Readonly<Record<string, unknown>> = {
    "nodes.moved_bytes": Float64Array.from(MOVED),
    "nodes.work_known": Int32Array.from(KNOWN),
    "roof.rates": Float64Array.from(rates),
    "roof.words": words,
    "roof.step_nanos": Float64Array.of(70_000),
  };
  return { ...MODEL, late: (name) => columns[name] };
}

function roofline(profile: Profile, isLit = (_: number): boolean => true): Roofline {
  const found = rooflineOf(evaluate(profile, "op", withDefaults({ orderBy: "micros" })), profile, isLit);
  if (!found) throw new Error("there is none");
  return found;
}

describe("the roofline", () => {
  test("has a dot for each row with time, float operations and bytes", () => {
    const { dots } = roofline(withRoof());
    expect(
      dots.map(({ name, intensity, rate, bound }) => [name, intensity, Math.round(rate), bound]),
    ).toEqual([
      ["Add", 0.25, 0.4e9, "memory"],
      ["MatMul", 20, 8e9, "compute"],
      ["Mul", 0.01, 100e3, "overhead"],
    ]);
    expect(new Map(dots[1]?.lines).get("of peak")).toBe("80.0 %");
    expect(new Map(dots[0]?.lines).get("of bandwidth")).toBe("80.0 %");
  });

  test("tells how much of the machine a step uses, and what has no dot", () => {
    // 84,001 FLOP in 70 µs are 1.2 GFLOP/s of 10; in 35 µs of op time they are 2.4.
    expect(roofline(withRoof()).notes).toEqual([
      "a CPU",
      "a step does 84.0 kFLOP in 70 µs: 12.0 % of what the machine can, 24.0 % by the time of its ops",
      "14 % of the op time is of rows without FLOP or bytes",
    ]);
  });

  test("rises up to the ridge at 5 FLOP for each byte, and is flat after it", () => {
    const { roof, band, frame } = roofline(withRoof());
    expect(roof.slice(1)).toEqual([
      { intensity: 5, rate: 10e9 },
      { intensity: 100, rate: 10e9 },
    ]);
    expect(band.find(({ intensity }) => intensity === 8)).toEqual({ intensity: 8, rate: 10e9, usual: 8e9 });
    const [across, up] = placeOf({ intensity: 100, rate: frame[0]?.rate ?? 0 }, frame);
    expect([across, up]).toEqual([1, 0]);
  });

  test("has dots without a roof where none is known, and says why", () => {
    const { dots, roof, band, notes } = roofline(withRoof([], ["", "run tfprof_widget.machine()"]));
    expect([roof, band]).toEqual([[], []]);
    expect(new Set(dots.map(({ bound }) => bound))).toEqual(new Set(["not known"]));
    expect(notes[0]).toBe("run tfprof_widget.machine()");
  });

  test("fades what is not selected", () => {
    const { dots } = roofline(withRoof(), (row) => row === 0);
    expect(dots.map(({ opacity }) => opacity)).toEqual([1, 0.3, 0.3]);
  });

  test("is none where Python sent no bytes", () => {
    expect(rooflineOf(evaluate(MODEL, "op", withDefaults()), MODEL, () => true)).toBeNull();
  });
});
