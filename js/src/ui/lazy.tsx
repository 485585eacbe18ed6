// Shows a panel that comes after the first paint: a placeholder until it is loaded, or the reason why it cannot be.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Carried, Panels, Store } from "../state/store.ts";

/** A panel, or why there is none; neither while that is not known. */
interface ArrivedPanel {
  readonly code: Panels["panels"][keyof Panels["panels"]] | undefined;
  readonly problem: string | undefined;
  ask(): Promise<void>;
}

/** Any panel that comes after the first paint. */
export type LazyPanel = keyof Panels["panels"] | keyof Carried["panels"];

interface Props {
  readonly store: Store;
  readonly panel: LazyPanel;
  /** Whether it is what the reader came for: all others wait until it is painted. */
  readonly isMain?: boolean;
  /** What says the most important until the panel is there, and stays if it cannot come. */
  readonly meanwhile?: ComponentChildren;
  readonly placeholder?: ComponentChildren;
  readonly unavailable?: (reason: string) => ComponentChildren;
}

/** The panel; each that comes on the screen asks for the bundle, which so is tried again where it could not be had. */
export function Lazy({ store, panel, isMain, meanwhile, placeholder = <Waiting />, ...given }: Props) {
  const { code, problem, ask } = arrivedPanel(store, panel);
  const [isDue, setDue] = useState(isMain || code !== undefined);
  useEffect(() => {
    if (!code) void ask();
    if (!code || isDue) return undefined;
    const painted = afterPaint(() => setDue(true));
    painted.ask();
    return painted.cancel;
  }, [ask, code]);
  if (code && isDue) {
    const Panel = code;
    return <Panel store={store} />;
  }
  return (
    <>
      {meanwhile}
      {problem === undefined || code ? placeholder : (given.unavailable ?? unavailable)(problem)}
    </>
  );
}

/** The panel if its code is there, else why not, and what asks for it: what a notebook has once uses the other panels. */
export function arrivedPanel({ host: { panels, carried } }: Store, panel: LazyPanel): ArrivedPanel {
  const { code, problem } = panels.arrived.value;
  if (!code || panel in code.panels) {
    return { code: code?.panels[panel as keyof Panels["panels"]], problem, ask: panels.ask };
  }
  const { code: more, problem: lack } = carried.arrived.value;
  return { code: more?.panels[panel as keyof Carried["panels"]], problem: lack, ask: carried.ask };
}

/** The styles of all such panels. */
export function LazyStyle({ store: { host } }: { readonly store: Store }) {
  return (
    <>
      <style>{host.panels.arrived.value.code?.style}</style>
      <style>{host.carried.arrived.value.code?.style}</style>
    </>
  );
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
