import { signal } from "@preact/signals";
import { beforeEach, expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import { profileOf } from "../engine/testing.ts";
import { GraphPicture } from "./graph_picture.ts";
import type { Store } from "./store.ts";

// Scopes s1 and s10, of which the name of one begins with that of the other; each holds an inner scope.
const PROFILE = profileOf(`
  s1/in/a = Add() 4us
  s1/in/b = Mul(s1/in/a) 1us
  s1/c = Relu(s1/in/b) 1us
  s10/in/a = Add(s1/c) 2us
  s10/in/b = Mul(s10/in/a) 1us
  s10/c = Relu(s10/in/b) 1us`);

let state: GraphPicture;
let store: Store;

beforeEach(() => {
  const kept = new Map<string, unknown>();
  store = {
    shown: { profile: PROFILE },
    options: signal(withDefaults()),
    selection: signal<readonly string[]>([]),
    search: signal(""),
    kept: (name: string, make: () => unknown) => {
      if (!kept.has(name)) kept.set(name, make());
      return kept.get(name);
    },
  } as unknown as Store;
  state = new GraphPicture(store);
});

function at(label: string): number {
  return state.scene.value.boxes.findIndex(({ box }) => box.label === label);
}

function drawn(): string[] {
  return state.scene.value.boxes.map(({ box, isOpen }) => (isOpen ? `${box.label} open` : box.label)).sort();
}

test("a box that closes takes those in it with it, and no other whose name begins alike", () => {
  state.toggle(at("s1"));
  state.toggle(at("s10"));
  state.toggle(at("in"));
  state.toggle(at("s1"));
  expect(drawn()).toEqual(["c", "in", "s1", "s10 open"]);
  state.toggle(at("s1"));
  expect(drawn()).toEqual(["c", "c", "in", "in", "s1 open", "s10 open"]);
});

test("values are those of all that is in a box, by what boxes are filled by", () => {
  const value = (label: string) => state.look.value.values[at(label)];
  expect([value("s1"), value("s10"), state.look.value.whole]).toEqual([6, 4, 10]);
  state.fill.value = "FLOP";
  expect(value("s1")).toBe(0);
});

test("a selected row is the box of its name, or in the closed box that holds it", () => {
  const marks = () =>
    Object.fromEntries(
      state.scene.value.boxes.map(({ box }, place) => [box.label, state.look.value.selected[place]]),
    );
  store.selection.value = ["s1"];
  expect(marks()).toEqual({ s1: 2, s10: 0 });
  store.selection.value = ["s10/in/b"];
  expect(marks()).toEqual({ s1: 0, s10: 1 });
  state.toggle(at("s10"));
  expect(marks()).toEqual({ s1: 0, s10: 0, in: 1, c: 0 });
});

test("a box that is selected is the rows of the tables that it stands for", () => {
  state.select(at("s10"));
  expect(store.selection.value).toEqual(["s10"]);
});

test("each match of the search is revealed in turn", () => {
  store.search.value = "mul";
  state.find(1);
  expect(state.scene.value.boxes[state.cursor.value]?.box.label).toBe("b");
  expect(drawn()).toContain("s1 open");
  state.find(1);
  expect(drawn()).toContain("s10 open");
  state.find(1);
  const { scope = -1 } = state.scene.value.boxes[state.cursor.value] ?? {};
  expect(state.scene.value.boxes[state.scene.value.boxes[scope]?.scope ?? -1]?.box.label).toBe("s1");
});

test("what opens stays where it is on the screen, with what is above it", () => {
  state.camera.value = { x: 0, y: 0, scale: 1 };
  const seen = (label: string) => {
    const { x, y, width } = state.scene.value.boxes[at(label)] ?? { x: 0, y: 0, width: 0 };
    const camera = state.camera.value ?? { x: 0, y: 0 };
    return [x + width / 2 - camera.x, y - camera.y];
  };
  const before = [seen("s1"), seen("s10")];
  state.toggle(at("s10"));
  expect([seen("s1"), seen("s10")]).toEqual(before);
});
