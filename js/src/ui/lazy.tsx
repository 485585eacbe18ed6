// A panel out of the pictures' bundle: something quiet in its place until that is loaded, or why it cannot be.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Pictures } from "../data/model.ts";
import type { Store } from "../state/store.ts";
import { afterPaint } from "./after_paint.ts";

interface Props {
  readonly store: Store;
  readonly panel: Exclude<keyof Pictures, "PICTURES_STYLE">;
  readonly waiting?: ComponentChildren;
  readonly lacking?: (reason: string) => ComponentChildren;
}

/** The panel; the first one on the screen has the bundle loaded, once that is painted and the browser has a moment. */
export function Lazy({ store, panel, waiting = <Waiting />, lacking = Lacking }: Props) {
  const { pictures } = store.host;
  const { value, problem } = pictures.arrival.value;
  useEffect(() => {
    const loading = afterPaint(() => pictures.ask());
    loading.ask();
    return loading.cancel;
  }, [pictures]);
  if (value) {
    const Panel = value[panel];
    return <Panel store={store} />;
  }
  return <>{problem === undefined ? waiting : lacking(problem)}</>;
}

/** The styles of all such panels. */
export function LazyStyle({ store }: { readonly store: Store }) {
  return <style>{store.host.pictures.arrival.value.value?.PICTURES_STYLE}</style>;
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

function Lacking(reason: string) {
  return (
    <p class="lacking" role="note">
      This panel cannot be shown: {reason}.
    </p>
  );
}
