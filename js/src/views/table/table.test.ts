// What keys do to a table: state/table.ts by way of keys.ts.

import { computed, signal } from "@preact/signals";
import { beforeEach, expect, test } from "vitest";
import { withDefaults } from "../../data/options.ts";
import type { Options, ViewName } from "../../data/protocol.ts";
import { evaluate } from "../../engine/evaluate.ts";
import { profileOf } from "../../engine/testing.ts";
import type { Listing } from "../../state/listing.ts";
import { lastingPlace } from "../../state/listing.ts";
import type { Store } from "../../state/store.ts";
import { TableState } from "../../state/table.ts";
import { onTableKey } from "./table.tsx";

const MODEL = profileOf(`
  big/a/one = MatMul() 60us
  big/a/two = MatMul() 20us
  big/b     = Relu()   16us
  small/c/d = Const()  3us
  small/e   = Const()  1us
`);

let state: TableState;
const kind = signal<ViewName>("scope");
const options = signal<Options>(withDefaults());

beforeEach(() => {
  kind.value = "scope";
  options.value = withDefaults({ orderBy: "micros" });
  state = new TableState({
    evaluation: computed(() => ({ view: evaluate(MODEL, kind.value, options.value), problem: null })),
    selection: signal<readonly string[]>([]),
    search: signal(""),
    graph: signal(0),
    shown: {},
  } as unknown as Store);
});

function listing(): Listing {
  return state.listing.value as Listing;
}

function seen(): string[] {
  const { view, seen: rows } = listing();
  return Array.from(rows, (row) => view.name(row));
}

function row(name: string): number {
  const { view } = listing();
  return Array.from({ length: view.rows }, (_, each) => view.name(each)).indexOf(name);
}

function active(): string {
  const { view } = listing();
  for (let each = 0; each < view.rows; each++) {
    if (lastingPlace(view, each) === state.active.value) return view.name(each);
  }
  return "";
}

function press(...keys: string[]): void {
  for (const key of keys) {
    const [name = "", shift] = key.split("+").reverse();
    expect(onTableKey(state, listing(), { key: name, shiftKey: shift === "Shift" } as KeyboardEvent, 3)).toBe(
      true,
    );
  }
}

test("folding outlives the options and another view in between", () => {
  state.fold(listing(), row("big/a"), true);
  state.fold(listing(), row("small"), false);
  const names = ["_TFProfRoot", "big", "big/a", "big/b", "small", "small/c", "small/e"];
  expect(seen()).toEqual(names);
  options.value = withDefaults({ orderBy: "micros", minMicros: 3 });
  expect(seen()).toEqual(names.slice(0, -1));
  kind.value = "op";
  expect(seen()).toEqual(["MatMul", "Relu", "Const"]);
  kind.value = "scope";
  options.value = withDefaults({ orderBy: "micros" });
  expect(seen()).toEqual(names);
});

test("a search unfolds what hides its matches, and goes round", () => {
  state.store.search.value = "d";
  state.find(1, true);
  expect([active(), state.match.value, state.matches.value.length]).toEqual(["small/c/d", 0, 1]);
  expect(seen()).toContain("small/c/d");
  state.store.search.value = "o";
  state.find(1);
  expect(active()).toBe("big/a/one");
  state.find(-1);
  expect(active()).toBe("big/a/two");
});

test("a match outside of what is zoomed into ends the zoom", () => {
  state.zoom(listing(), row("small"));
  expect(seen()).toEqual(["small", "small/c", "small/e"]);
  state.store.search.value = "c/d";
  state.find(1, true);
  expect(seen()).toEqual(["small", "small/c", "small/c/d", "small/e"]);
  state.store.search.value = "one";
  state.find(1, true);
  expect(seen()).toContain("big/a/one");
});

test("the arrow keys move, unfold and fold as in a treegrid", () => {
  press("ArrowDown", "ArrowDown");
  expect(active()).toBe("big");
  press("ArrowRight");
  expect(active()).toBe("big/a");
  press("End");
  expect(active()).toBe("small");
  press("ArrowRight");
  expect([active(), seen().length]).toEqual(["small", 9]);
  press("ArrowRight", "ArrowLeft", "ArrowLeft");
  expect([active(), seen().length]).toEqual(["small", 7]);
  press("PageUp");
  expect(active()).toBe("big/a/one");
  press("Home", "ArrowUp");
  expect(active()).toBe("_TFProfRoot");
});

test("keys select, extend and clear", () => {
  press("ArrowDown", "ArrowDown", "Enter", "Shift+ArrowDown", "Shift+ArrowDown");
  expect(state.store.selection.value).toEqual(["big", "big/a", "big/a/one"]);
  press("End", " ");
  expect(state.store.selection.value).toEqual(["big", "big/a", "big/a/one", "small"]);
  press(" ", "Escape");
  expect(state.store.selection.value).toEqual([]);
  expect(onTableKey(state, listing(), { key: "Escape" } as KeyboardEvent, 3)).toBe(false);
});

test("what is selected elsewhere is unfolded and gone to, what is selected here stays where it is", () => {
  state.store.selection.value = ["small/c/d", "unknown"];
  state.follow(listing());
  expect([active(), state.reveals.value]).toEqual(["small/c/d", 1]);
  expect(seen()).toContain("small/c/d");
  state.select(listing(), row("big"));
  state.store.selection.value = [...state.store.selection.value];
  state.follow(listing());
  expect([active(), state.reveals.value]).toEqual(["big", 1]);
});

test("z zooms in, Escape out again", () => {
  press("Home", "ArrowDown", "z");
  expect(seen()[0]).toBe("big");
  press("Escape");
  expect([seen()[0], active()]).toEqual(["_TFProfRoot", "big"]);
});
