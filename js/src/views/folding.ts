// Whether the panel of filters is folded: at first it is open where there is room beside the table, else not.

import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

// As in the container queries of styles/base.css.
const WIDEST_NARROW = 900;

/** A panel that folds; narrow and wide each keep their own state. */
export interface Folding {
  readonly isNarrow: ReadonlySignal<boolean>;
  readonly isFolded: ReadonlySignal<boolean>;
  readonly toggle: () => void;
}

/** The folding of the panel inside an element. */
export function useFolding(element: RefObject<HTMLElement | null>): Folding {
  const isNarrow = useSignal(false);
  const foldedWhenNarrow = useSignal(true);
  const foldedWhenWide = useSignal(false);
  useLayoutEffect(() => {
    if (!element.current) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) isNarrow.value = entry.contentRect.width <= WIDEST_NARROW;
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  const folded = (): typeof foldedWhenWide => (isNarrow.value ? foldedWhenNarrow : foldedWhenWide);
  return {
    isNarrow,
    isFolded: useComputed(() => folded().value),
    toggle: () => {
      folded().value = !folded().value;
    },
  };
}
