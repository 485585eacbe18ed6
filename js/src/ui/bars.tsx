// A stacked bar as a list: its parts laid end to end, each with its name, time and share, and where a click leads.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Part } from "../data/graphs.ts";
import { shortTime, visible } from "../lib/format.ts";

interface BarProps {
  /** The name of the list. */
  readonly label: string;
  readonly parts: readonly Part[];
  /** What stands in place of a bar without parts. */
  readonly lacking: string;
  readonly choose: (part: Part) => void;
}

/** The bar with its name and its whole. */
export function StackedBar({ label, parts, lacking, choose }: BarProps) {
  const whole = parts.reduce((sum, { nanos }) => sum + nanos, 0);
  const list = useRef<HTMLUListElement>(null);
  const [cut, setCut] = useState<readonly boolean[]>([]);
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return undefined;
    // A text that does not fit whole is on a second line, out of sight.
    const look = () =>
      setCut(
        Array.from(element.querySelectorAll("button span"), (text) => (text as HTMLElement).offsetTop > 0),
      );
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, [parts]);
  return (
    <div class="stacked">
      <span class="of" aria-hidden="true">
        {label}
      </span>
      <ul ref={list} aria-label={label}>
        {parts.length ? (
          parts.map((part) => (
            <li key={part.key} data-part={part.key} style={{ flexGrow: part.nanos }}>
              <button type="button" title={titleOf(part)} onClick={() => choose(part)}>
                <span>{textOf(part)}</span>
              </button>
            </li>
          ))
        ) : (
          <li class="lacking">{lacking}</li>
        )}
      </ul>
      <b aria-hidden="true">{whole ? shortTime(whole / 1000) : ""}</b>
      <span class="below" aria-hidden="true">
        {parts.map(
          (part, place) =>
            cut[place] && (
              <span key={part.key} data-part={part.key}>
                {textOf(part)}
              </span>
            ),
        )}
      </span>
    </div>
  );
}

function textOf({ name, nanos, share }: Part): string {
  return `${name}, ${shortTime(nanos / 1000)}, ${share} %`;
}

function titleOf(part: Part): string {
  return [textOf(part), visible(part.detail)].filter(Boolean).join(" · ");
}
