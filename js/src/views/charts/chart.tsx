// A chart of the panel: a skeleton until Vega has drawn it, then the drawing, with its tooltip and its marks for the keyboard.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Store } from "../../state/store.ts";
import { Skeleton } from "../../ui/lazy.tsx";
import { useTheme } from "../../ui/use_theme.ts";
import { type Content, type Data, Drawn, type Lines, type PlotBox } from "./drawn.ts";
import { type ChartMark, Marks } from "./marks.tsx";
import { PlainTable } from "./plain_table.tsx";
import { type Tip, Tooltip } from "./tooltip.tsx";

/** What to draw, and what the keyboard and screen readers find in it. */
export interface ChartProps {
  readonly store: Store;
  /** The name under which it is exported. */
  readonly name: string;
  /** Which of the specifications of tfprof_widget/widget/charts.py. */
  readonly spec: string;
  /** The same object as long as the rows are the same. */
  readonly data: Data;
  /** How high the plot is. */
  readonly height: number;
  readonly label: string;
  readonly marks: readonly ChartMark[];
  readonly areRows?: boolean;
}

/** A chart, or why there is none and its numbers as a plain table. */
export function Chart({ store, name, spec, data, label, marks, areRows = false, height }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn | null>(null);
  const [plot, setPlot] = useState<PlotBox | null>(null);
  const [tip, setTip] = useState<Tip | null>(null);
  const [problem, setProblem] = useState("");
  const theme = useTheme(place);
  const content = useRef<Content>({ data, height });
  content.current = { data, height };
  // In a layout effect, so that bars and marks change in the same paint.
  useLayoutEffect(() => drawn.current?.show({ data, height }), [data, height]);
  const onPointed = (event: UIEvent, lines: Lines) => setTip(tipAt(event, lines, place.current));
  useEffect(() => {
    const element = place.current;
    if (!element || !theme) return;
    let isOver = false;
    const sizes = new ResizeObserver(() => drawn.current?.fit());
    const start = async (): Promise<void> => {
      const { charts } = await store.host.assets();
      const first = content.current;
      const found = await Drawn.draw(element, charts, spec, first, onPointed, setPlot);
      if (isOver) return found.finalize();
      if (content.current.data !== first.data) found.show(content.current);
      drawn.current = found;
      sizes.observe(element);
      store.chartViews.set(name, found.view);
    };
    start().catch((error: unknown) => {
      if (!isOver) setProblem(error instanceof Error ? error.message : String(error));
    });
    return () => {
      isOver = true;
      sizes.disconnect();
      if (drawn.current) store.chartViews.delete(name);
      drawn.current?.finalize();
      drawn.current = null;
      setTip(null);
    };
  }, [store, name, spec, theme]);
  if (problem) return <PlainTable label={label} marks={marks} reason={problem} />;
  return (
    <figure class="chart" aria-label={label} style={{ minHeight: plot ? undefined : `${height}px` }}>
      <div ref={place} class="drawing" aria-hidden="true" />
      {!plot && <Skeleton />}
      {plot && <Marks label={label} marks={marks} plot={plot} areRows={areRows} onPointed={onPointed} />}
      {tip && <Tooltip tip={tip} />}
    </figure>
  );
}

/** Puts the tooltip where the pointer is within the chart, or at what has the focus. */
function tipAt(event: UIEvent, lines: Lines, element: HTMLElement | null): Tip | null {
  if (!lines.length || !element) return null;
  const { left, top, width } = element.getBoundingClientRect();
  const target = (event.currentTarget as Element | null)?.getBoundingClientRect();
  const [x, y] =
    event instanceof MouseEvent
      ? [event.clientX, event.clientY]
      : [target?.left ?? left, target?.bottom ?? top];
  return { x: x - left, y: y - top, width, lines };
}
