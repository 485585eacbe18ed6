// Puts off what is asked for too often: the last of several calls counts.

import { useEffect, useMemo } from "preact/hooks";

/** A call that is put off; `flush` makes it now. */
export interface Deferred<Value> {
  (value: Value): void;
  flush(): void;
}

/** When to make a call, and how to call that off. */
interface Timing {
  readonly begin: (call: () => void) => number;
  readonly end: (handle: number) => void;
}

const NEXT_FRAME: Timing = {
  begin: (call) => requestAnimationFrame(call),
  end: (handle) => cancelAnimationFrame(handle),
};
// Shorter than the pause between two letters of a slow typist, longer than that of a quick one.
const PAUSE_MILLISECONDS = 150;
const AFTER_PAUSE: Timing = {
  begin: (call) => window.setTimeout(call, PAUSE_MILLISECONDS),
  end: (handle) => window.clearTimeout(handle),
};

/** At most one call a painted frame. */
export function usePerFrame<Value>(call: (value: Value) => void): Deferred<Value> {
  return useDeferred(call, NEXT_FRAME);
}

/** One call when nothing came for a moment. */
export function useAfterPause<Value>(call: (value: Value) => void): Deferred<Value> {
  return useDeferred(call, AFTER_PAUSE);
}

function useDeferred<Value>(call: (value: Value) => void, timing: Timing): Deferred<Value> {
  const put = useMemo(() => deferred(call, timing), []);
  useEffect(() => () => put.flush(), []);
  return put;
}

function deferred<Value>(call: (value: Value) => void, { begin, end }: Timing): Deferred<Value> {
  let waiting: { readonly value: Value; readonly handle: number } | null = null;
  const flush = (): void => {
    if (!waiting) return;
    const { value, handle } = waiting;
    end(handle);
    waiting = null;
    call(value);
  };
  const put = (value: Value): void => {
    if (waiting) end(waiting.handle);
    waiting = { value, handle: begin(flush) };
  };
  return Object.assign(put, { flush });
}
