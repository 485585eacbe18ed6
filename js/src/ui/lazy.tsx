// Shows a panel that comes after the first paint: a placeholder until it is loaded, or the reason why it cannot be.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Panels, Store } from "../state/store.ts";

interface Props {
  readonly store: Store;
  readonly panel: keyof Panels["panels"];
  readonly placeholder?: ComponentChildren;
  readonly unavailable?: (reason: string) => ComponentChildren;
}

/** The panel; the first one on the screen has the bundle loaded, once that is painted and the browser has a moment. */
export function Lazy({ store, panel, placeholder = <Waiting />, unavailable = Unavailable }: Props) {
  const { panels } = store.host;
  const { code, problem } = panels.arrived.value;
  useEffect(() => {
    const loading = afterPaint(() => panels.ask());
    loading.ask();
    return loading.cancel;
  }, [panels]);
  if (code) {
    const Panel = code.panels[panel];
    return <Panel store={store} />;
  }
  return <>{problem === undefined ? placeholder : unavailable(problem)}</>;
}

/** The styles of all such panels. */
export function LazyStyle({ store }: { readonly store: Store }) {
  return <style>{store.host.panels.arrived.value.code?.style}</style>;
}

/** What stands for a picture until it is drawn. */
export function Skeleton() {
  return <div class="skeleton" role="presentation" />;
}

function Waiting() {
  return (
    <div class="waiting">
      <Skeleton />
    </div>
  );
}

function Unavailable(reason: string) {
  return (
    <p class="lacking" role="note">
      This panel cannot be shown: {reason}.
    </p>
  );
}

// In a drag that leaves no moment the charts still follow this often.
const PATIENCE_MILLISECONDS = 120;

/** A function that has `work` done after the next paint, and one that calls it off. */
export function afterPaint(work: () => void): { readonly ask: () => void; readonly cancel: () => void } {
  let frame = 0;
  let idle = 0;
  const run = (): void => {
    idle = 0;
    work();
  };
  const cancel = (): void => {
    cancelAnimationFrame(frame);
    cancelIdle(idle);
    frame = 0;
    idle = 0;
  };
  const ask = (): void => {
    if (frame || idle) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      idle = whenIdle(run);
    });
  };
  return { ask, cancel };
}

/** Safari has no idle callbacks. */
function whenIdle(work: () => void): number {
  if (typeof requestIdleCallback === "undefined") return setTimeout(work);
  return requestIdleCallback(work, { timeout: PATIENCE_MILLISECONDS });
}

function cancelIdle(idle: number): void {
  if (typeof cancelIdleCallback === "undefined") clearTimeout(idle);
  else cancelIdleCallback(idle);
}
