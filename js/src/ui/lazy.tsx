// Shows a panel that comes after the first paint: a placeholder until it is loaded, or the reason why it cannot be.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Panels, Store } from "../state/store.ts";

interface Props {
  readonly store: Store;
  readonly panel: keyof Panels["panels"];
  /** Whether it is what the reader came for: all others wait until it is painted. */
  readonly isMain?: boolean;
  /** What says the most important until the panel is there, and stays if it cannot come. */
  readonly meanwhile?: ComponentChildren;
  readonly placeholder?: ComponentChildren;
  readonly unavailable?: (reason: string) => ComponentChildren;
}

/** The panel; each that comes on the screen asks for the bundle, which so is tried again where it could not be had. */
export function Lazy({ store, panel, isMain, meanwhile, placeholder = <Waiting />, ...given }: Props) {
  const { panels } = store.host;
  const { code, problem } = panels.arrived.value;
  const [isDue, setDue] = useState(isMain || code !== undefined);
  useEffect(() => {
    if (!code) void panels.ask();
    if (!code || isDue) return undefined;
    const painted = afterPaint(() => setDue(true));
    painted.ask();
    return painted.cancel;
  }, [panels, code]);
  if (code && isDue) {
    const Panel = code.panels[panel];
    return <Panel store={store} />;
  }
  return (
    <>
      {meanwhile}
      {problem === undefined || code ? placeholder : (given.unavailable ?? unavailable)(problem)}
    </>
  );
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

/** What stands for a panel that cannot be shown. */
export function unavailable(reason: string) {
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
