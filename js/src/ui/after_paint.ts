// Work that may wait until the table is painted and the browser has a moment, done once however often it was asked for.

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
