import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Listener, type Model, sharedAssets } from "./model.ts";

const BYTES = Uint8Array.of(31, 139, 8);
const MORE_BYTES = Uint8Array.of(31, 139, 9);
const OTHER_BYTES = Uint8Array.of(31, 139, 10);
const TOLD = { answer: "code", page: "<!doctype html>" };

/** A model that keeps what was said to Python, and what to call when Python says something. */
function fakeModel(traits: Record<string, unknown> = {}) {
  const said: unknown[] = [];
  const listeners = new Map<string, Listener[]>();
  const model: Model = {
    get: (name) => traits[name],
    set: () => {},
    save_changes: () => {},
    send: (message) => void said.push(message),
    on: (event, listener) => void listeners.set(event, [...(listeners.get(event) ?? []), listener]),
    off: (event, listener) =>
      void listeners.set(
        event,
        (listeners.get(event) ?? []).filter((each) => each !== listener),
      ),
  };
  const heard = () => listeners.get("msg:custom") ?? [];
  const tell = (message: unknown, ...buffers: DataView[]) => {
    for (const listener of heard()) listener(message, buffers);
  };
  return { model, said, heard, tell };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("assets come from the widget that all share, and nobody asks the kernel", async () => {
  const shared = fakeModel({ panels: BYTES, carried: OTHER_BYTES, charts: MORE_BYTES, page: TOLD.page });
  const { model, said } = fakeModel({ _assets: "anywidget:abc" });
  const getModel = vi.fn(async () => shared.model);
  expect(await sharedAssets(model, { getModel })).toEqual({
    panels: BYTES,
    carried: OTHER_BYTES,
    charts: MORE_BYTES,
    page: TOLD.page,
  });
  expect(getModel).toHaveBeenCalledWith("anywidget:abc");
  expect(said).toEqual([]);
});

describe.each([
  ["a host that finds no models", undefined],
  ["a shared widget that is gone", { getModel: () => Promise.reject(new Error("no such model")) }],
])("with %s the kernel is asked once", (_, source) => {
  test("and its answer taken, whatever else it says meanwhile", async () => {
    const { model, said, heard, tell } = fakeModel();
    const assets = sharedAssets(model, source);
    await vi.advanceTimersByTimeAsync(0);
    expect(said).toEqual([{ request: "code" }]);
    tell({ answer: "something else" }, new DataView(new ArrayBuffer(1)));
    const [panels, carried, charts] = [BYTES, OTHER_BYTES, MORE_BYTES].map(
      ({ buffer }) => new DataView(buffer),
    );
    tell(TOLD, panels as DataView, carried as DataView, charts as DataView);
    expect(await assets).toEqual({ panels, carried, charts, page: TOLD.page });
    expect(heard()).toEqual([]);
  });

  test("and given up on after ten seconds", async () => {
    const { model, heard } = fakeModel();
    const refused = expect(sharedAssets(model, source)).rejects.toThrow("the kernel does not answer");
    await vi.advanceTimersByTimeAsync(9_999);
    expect(heard()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    await refused;
    expect(heard()).toEqual([]);
  });
});
