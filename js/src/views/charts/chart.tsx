// One chart: the picture, its marks as a list for keys and readers, the tooltip, and a table of the numbers where it cannot be drawn.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ChartData } from "../../analysis/chart_content.ts";
import type { Drawing, DrawnContent, Lines, PlotBox } from "../../state/bundles.ts";
import type { Store } from "../../state/store.ts";
import { useTheme } from "../../ui/canvas.ts";
import { Skeleton } from "../../ui/lazy.tsx";

/** What to draw, and what the keyboard and screen readers find in it. */
interface ChartProps {
  readonly store: Store;
  /** Which of the specifications of tfprof_widget/charts/. */
  readonly spec: string;
  /** The same object as long as the rows are the same. */
  readonly data: ChartData;
  /** How high the plot is. */
  readonly height: number;
  readonly label: string;
  readonly marks: readonly ChartMark[];
  readonly areRows?: boolean;
}

/** A chart, or why there is none and its numbers as a plain table. */
export function Chart({ store, spec, data, label, marks, areRows = false, height }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawing | null>(null);
  const [plot, setPlot] = useState<PlotBox | null>(null);
  const [tip, setTip] = useState<Tip | null>(null);
  const [problem, setProblem] = useState("");
  const content = useRef<DrawnContent>({ data, height });
  content.current = { data, height };
  // In a layout effect, so that bars and marks change in the same paint.
  useLayoutEffect(() => drawn.current?.show({ data, height }), [data, height]);
  const onPointed = (event: UIEvent, lines: Lines) => setTip(tipAt(event, lines, place.current));
  const { code, problem: absence } = store.host.charts.arrived.value;
  const reason = problem || (code ? "" : absence);
  const theme = useTheme(place, !reason);
  useEffect(() => void store.host.charts.ask(), [store]);
  useEffect(() => {
    const element = place.current;
    if (!element || !theme || !code) return;
    let isOver = false;
    const sizes = new ResizeObserver(() => drawn.current?.fit());
    const start = async (): Promise<void> => {
      const first = content.current;
      const found = await code.draw(element, spec, first, onPointed, setPlot);
      if (isOver) return found.finalize();
      if (content.current.data !== first.data) found.show(content.current);
      drawn.current = found;
      sizes.observe(element);
    };
    start().catch((error: unknown) => {
      if (!isOver) setProblem(error instanceof Error ? error.message : String(error));
    });
    return () => {
      isOver = true;
      sizes.disconnect();
      drawn.current?.finalize();
      drawn.current = null;
      setTip(null);
    };
  }, [store, spec, theme, code]);
  if (reason) return <PlainTable label={label} marks={marks} reason={reason} />;
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

/** A mark: where it lies in the plot, in parts of its width and height, and what choosing it does. */
export interface ChartMark {
  readonly key: string;
  /** What it is and how much: the lines of its tooltip, which a screen reader says. */
  readonly lines: Lines;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly isSelected: boolean;
  /** Undefined where there is nothing to choose. */
  readonly choose?: ((adds: boolean) => void) | undefined;
}

interface MarksProps {
  readonly label: string;
  readonly marks: readonly ChartMark[];
  readonly plot: PlotBox;
  /** Whether they reach over the labels left of the plot. */
  readonly areRows: boolean;
  readonly onPointed: (event: UIEvent, lines: Lines) => void;
}

/** A list box over the plot; arrow keys move within it, Enter and Space choose, with Ctrl in addition. */
function Marks({ label, marks, plot, areRows, onPointed }: MarksProps) {
  const list = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  if (!marks.length) return null;
  const current = Math.min(active, marks.length - 1);
  // The key belongs to the mark that has the focus: with other data that mark may have another place.
  const press = (event: KeyboardEvent, index: number): void => {
    const next = moved(event.key, index, marks.length);
    if (next === undefined) {
      if (event.key === "Escape") onPointed(event, []);
      if (event.key !== "Enter" && event.key !== " ") return;
      marks[index]?.choose?.(event.ctrlKey || event.metaKey);
    } else {
      setActive(next);
      (list.current?.children[next] as HTMLElement | undefined)?.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={list}
      class="hits"
      role="listbox"
      aria-label={label}
      aria-multiselectable="true"
      style={pixels(plot, areRows)}
      onMouseLeave={(event) => onPointed(event, [])}
      onFocusOut={(event) => onPointed(event, [])} // unlike blur it is heard from the marks within
    >
      {marks.map((mark, index) => (
        <div
          key={mark.key}
          role="option"
          aria-label={spokenMark(mark.lines)}
          aria-selected={mark.isSelected}
          tabIndex={index === current ? 0 : -1}
          style={percents(mark)}
          onKeyDown={(event) => press(event, index)}
          onClick={(event) => mark.choose?.(event.ctrlKey || event.metaKey)}
          onMouseMove={(event) => onPointed(event, mark.lines)}
          onFocus={(event) => {
            setActive(index);
            if (event.currentTarget.matches(":focus-visible")) onPointed(event, mark.lines);
          }}
        />
      ))}
    </div>
  );
}

function spokenMark([head, ...others]: Lines): string {
  return [head?.[1], ...others.filter(([, text]) => text).map((line) => line.join(" "))].join(", ");
}

function moved(key: string, from: number, count: number): number | undefined {
  const to = {
    ArrowDown: from + 1,
    ArrowRight: from + 1,
    ArrowUp: from - 1,
    ArrowLeft: from - 1,
    Home: 0,
    End: count - 1,
  }[key];
  return to === undefined ? undefined : Math.min(Math.max(to, 0), count - 1);
}

function pixels({ left, top, width, height }: PlotBox, areRows: boolean) {
  const [start, length] = areRows ? [0, left + width] : [left, width];
  return { left: `${start}px`, top: `${top}px`, width: `${length}px`, height: `${height}px` };
}

function percents({ left, top, width, height }: ChartMark) {
  return {
    left: `${left * 100}%`,
    top: `${top * 100}%`,
    width: `${width * 100}%`,
    height: `${height * 100}%`,
  };
}

interface PlainTableProps {
  readonly label: string;
  readonly marks: readonly ChartMark[];
  readonly reason: string;
}

/** A row a mark, which its button chooses. */
function PlainTable({ label, marks, reason }: PlainTableProps) {
  return (
    <div class="plain">
      <p class="dim" role="note">
        No chart: {reason}. Its numbers:
      </p>
      <table aria-label={label}>
        <tbody>
          {marks.map(({ key, lines: [name, ...others], isSelected, choose }) => (
            <tr key={key} aria-selected={isSelected}>
              <th scope="row">
                {choose ? (
                  <button
                    type="button"
                    aria-pressed={isSelected}
                    onClick={({ ctrlKey, metaKey }) => choose(ctrlKey || metaKey)}
                  >
                    {name?.[1]}
                  </button>
                ) : (
                  name?.[1]
                )}
              </th>
              {others.slice(0, 2).map(([title, text]) => (
                <td key={title}>{text}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The lines, and where in a chart of this width. */
interface Tip {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly lines: Lines;
}

/** The first line is what it is, the others what is known of it. */
function Tooltip({ tip }: { readonly tip: Tip }) {
  const [head, ...others] = tip.lines;
  const isRight = tip.x > tip.width / 2;
  const side = isRight ? { right: `${tip.width - tip.x + 6}px` } : { left: `${tip.x + 10}px` };
  return (
    <div class="tip" role="presentation" style={{ top: `${tip.y + 12}px`, ...side }}>
      <b>{head?.[1]}</b>
      <dl>
        {others
          .filter(([, text]) => text)
          .map(([title, text]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{text}</dd>
            </div>
          ))}
      </dl>
    </div>
  );
}
