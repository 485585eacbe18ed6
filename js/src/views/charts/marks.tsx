// The marks of a chart for pointer, keyboard and screen reader: invisible options that lie on what is drawn.

import { useRef, useState } from "preact/hooks";
import type { Lines, PlotBox } from "./drawn.ts";

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
export function Marks({ label, marks, plot, areRows, onPointed }: MarksProps) {
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
      onBlur={(event) => onPointed(event, [])}
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
