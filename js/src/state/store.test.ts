import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import type { Model } from "../data/model.ts";
import { type Host, Store } from "./store.ts";

/** A model as anywidget gives it: each view of a widget has its store, and all have this model. */
function fakeModel(traits: Record<string, unknown> = {}): Model & { readonly saved: number[] } {
  const values = new Map(Object.entries(traits));
  const events = new EventTarget();
  const saved: number[] = [];
  return {
    saved,
    get: (name) => values.get(name),
    set: (name, value) => {
      values.set(name, value);
      events.dispatchEvent(new Event(`change:${name}`));
    },
    save_changes: () => void saved.push(values.size),
    on: (event, listener) => events.addEventListener(event, listener),
    off: (event, listener) => events.removeEventListener(event, listener),
  };
}

function storeOf(model: Model): Store {
  const later = { arrived: signal({}), ask: async () => {} };
  return new Store({
    model,
    assets: () => Promise.reject(),
    panels: later,
    carried: later,
    charts: later,
  } as Host);
}

test("two views of a widget show the same, by way of its traits", () => {
  const model = fakeModel({ view: "scope", min_bytes: 0 });
  const [one, other] = [storeOf(model), storeOf(model)];
  one.set({ minBytes: 64 });
  one.tab.value = "op";
  one.selection.value = ["a"];
  expect(other.options.value.minBytes).toBe(64);
  expect([other.tab.value, other.selection.value]).toEqual(["op", ["a"]]);
  expect([model.get("min_bytes"), model.get("view")]).toEqual([64, "op"]);
});

test("what comes from Python is not sent back", () => {
  const model = fakeModel({ metric: "time" });
  const store = storeOf(model);
  const before = model.saved.length;
  model.set("metric", "memory");
  expect(store.metric.value).toBe("memory");
  expect(model.saved).toHaveLength(before);
});

test("a store that was disposed of follows nothing, and nothing follows it", () => {
  const model = fakeModel({ search: "" });
  const store = storeOf(model);
  store.dispose();
  model.set("search", "x");
  expect(store.search.value).toBe("");
  store.search.value = "y";
  expect(model.get("search")).toBe("x");
});

test("what a panel keeps is there when its tab is looked at again, in its own view of the widget", () => {
  const model = fakeModel();
  const [one, other] = [storeOf(model), storeOf(model)];
  const first = one.kept("sorting", () => signal("time"));
  first.value = "bytes";
  expect(one.kept("sorting", () => signal("time"))).toBe(first);
  expect(other.kept("sorting", () => signal("time")).value).toBe("time");
});

test("a narrow widget and a wide one each remember whether their filters are folded", () => {
  const { filters } = storeOf(fakeModel());
  expect(filters.isFolded.value).toBe(false);
  filters.toggle();
  filters.isNarrow.value = true;
  expect(filters.isFolded.value).toBe(true);
  filters.toggle();
  expect(filters.isFolded.value).toBe(false);
  filters.isNarrow.value = false;
  expect(filters.isFolded.value).toBe(true);
});
