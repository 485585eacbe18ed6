// Which rows are in sight, and how a row comes into sight.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { TableState } from "../../state/table.ts";

/** As `--row` in the styles. */
export const ROW_HEIGHT = 24;
// Rows drawn above and below those in sight, so that scrolling finds them there.
const OVERSCAN = 8;
// Scrolling draws anew when so many rows have passed.
const STRIDE = 4;

interface Box {
  readonly current: HTMLElement | null;
}

/** The rows in sight and a few around them. */
export function useWindow(grid: Box, count: number) {
  const [top, setTop] = useState(0);
  const [size, setSize] = useState({ height: 540, room: 9999, widget: 9999 });
  useLayoutEffect(() => {
    const element = grid.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      const { clientHeight: height, clientWidth: room } = element;
      setSize({ height, room, widget: element.closest(".tfprof")?.clientWidth ?? room });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const page = Math.max(1, Math.floor(size.height / ROW_HEIGHT) - 1);
  const inSight = page + 2 + 2 * OVERSCAN;
  const first = Math.max(0, Math.min(top - OVERSCAN, count - inSight));
  const onScroll = (event: { readonly currentTarget: HTMLElement }): void =>
    setTop(STRIDE * Math.floor(event.currentTarget.scrollTop / (STRIDE * ROW_HEIGHT)));
  return { first, last: Math.min(count, first + inSight), page, size, onScroll };
}

/** Scroll when something asks for the active row, and not when the rows change under the reader. */
export function useReveal(grid: Box, state: TableState, active: number): void {
  const reveals = state.reveals.value;
  const isFirst = useRef(true);
  useEffect(() => {
    const element = grid.current;
    if (isFirst.current || !element || active < 0) {
      isFirst.current = false;
      return;
    }
    const header = element.querySelector<HTMLElement>(".headers")?.offsetHeight ?? 0;
    const [from, to] = [active * ROW_HEIGHT, (active + 1) * ROW_HEIGHT];
    const room = element.clientHeight - header;
    const isFar = to < element.scrollTop - room || from > element.scrollTop + 2 * room;
    if (isFar) element.scrollTop = from - room / 2;
    else if (from < element.scrollTop) element.scrollTop = from;
    else if (to > element.scrollTop + room) element.scrollTop = to - room;
  }, [reveals]);
}
