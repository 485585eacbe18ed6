import { describe, expect, test } from "vitest";
import { executionsOf, transferOf } from "../analysis/testing.ts";
import type { Profile } from "../data/profile.ts";
import { profileOf } from "../engine/testing.ts";
import { chromeTraceParts } from "./files.ts";

interface Event {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly args: Readonly<Record<string, unknown>>;
}

const SKETCH = `
  a     = Add() 10ns;10ns @/device:CPU:0
  b"</b = Mul() 10ns @/device:GPU:0
`;

function eventsOf(rows: Parameters<typeof executionsOf>[0]): readonly Event[] {
  const profile: Profile = { ...profileOf(SKETCH), executions: executionsOf(rows) };
  return JSON.parse([...chromeTraceParts(profile)].join("")).traceEvents;
}

describe("chromeTraceParts", () => {
  test("writes a process a device, a thread a lane, an event an execution", () => {
    const events = eventsOf([{ drawn: "aaaa" }, { device: 1, drawn: "  bb" }]);
    expect(
      events.filter(({ ph }) => ph === "M").map(({ name, pid, tid, args }) => [name, pid, tid, args.name]),
    ).toEqual([
      ["process_name", 1, 1, "CPU:0"],
      ["thread_name", 1, 1, "lane 0"],
      ["process_name", 2, 1, "GPU:0"],
      ["thread_name", 2, 1, "lane 0"],
    ]);
    expect(events.filter(({ ph }) => ph === "X")).toEqual([
      { name: "a", cat: "Add", ph: "X", pid: 1, tid: 1, ts: 0, dur: 0.04, args: { op: "Add", step: 0 } },
      {
        name: 'b"</b',
        cat: "Mul",
        ph: "X",
        pid: 2,
        tid: 1,
        ts: 0.02,
        dur: 0.02,
        args: { op: "Mul", step: 0 },
      },
    ]);
  });

  test("puts what overlaps into lanes of its own, for viewers cannot nest it", () => {
    const slices = eventsOf([{ drawn: "aaaa" }, { drawn: "  bbbb" }]).filter(({ ph }) => ph === "X");
    expect(slices.map(({ tid, ts }) => [tid, ts])).toEqual([
      [1, 0],
      [2, 0.02],
    ]);
  });

  test("lays steps out one after another, and leaves out what has no start", () => {
    const slices = eventsOf([{ drawn: "aa" }, { drawn: "" }]);
    expect(slices.filter(({ ph }) => ph === "X")).toHaveLength(1);
    const [first, second] = eventsOf([{ drawn: "aa" }, { step: 1, drawn: "bb" }]).filter(
      ({ ph }) => ph === "X",
    );
    expect(second?.args.step).toBe(1);
    expect(second?.ts).toBeGreaterThan((first?.ts ?? 0) + (first?.dur ?? 0));
  });

  test("is a valid trace where nothing ran", () => {
    expect(eventsOf([])).toEqual([]);
  });

  test("writes transfers on a thread of their own, below what the device that got them ran", () => {
    const profile: Profile = {
      ...profileOf(SKETCH),
      executions: executionsOf([{ drawn: "aaaa" }]),
      transfers: transferOf({ from: "/device:GPU:0", to: "/device:CPU:0", drawn: "  tt" }),
    };
    const events: readonly Event[] = JSON.parse([...chromeTraceParts(profile)].join("")).traceEvents;
    const thread = events
      .filter(({ name }) => name === "thread_name")
      .map(({ tid, args }) => [tid, args.name]);
    expect(thread).toEqual([
      [1, "lane 0"],
      [2, "transfers"],
    ]);
    expect(events.find(({ tid, ph }) => tid === 2 && ph === "X")).toEqual({
      name: "w:0",
      cat: "RecvTensor",
      ph: "X",
      pid: 1,
      tid: 2,
      ts: 0.02,
      dur: 0.02,
      args: { from: "/device:GPU:0", to: "/device:CPU:0", bytes: 64, step: 0 },
    });
  });
});
