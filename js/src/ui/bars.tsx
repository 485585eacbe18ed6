// A bar of parts laid end to end, and a strip of the times of steps.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Part } from "../data/graphs.ts";
import { shortTime, visible } from "../lib/format.ts";

interface BarProps {
  /** The name of the list. */
  readonly label: string;
  readonly parts: readonly Part[];
  /** What stands in place of a bar without parts. */
  readonly lacking: string;
  /** Where a part leads to; without it nothing is to be chosen. */
  readonly choose?: (part: Part) => void;
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
      setCut(Array.from(element.querySelectorAll("span"), (text) => (text as HTMLElement).offsetTop > 0));
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
              {choose ? (
                <button type="button" title={partTitle(part)} onClick={() => choose(part)}>
                  <span>{partText(part)}</span>
                </button>
              ) : (
                <div title={partTitle(part)}>
                  <span>{partText(part)}</span>
                </div>
              )}
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
                {partText(part)}
              </span>
            ),
        )}
      </span>
    </div>
  );
}

/** A part in words. */
function partText({ name, nanos, share }: Part): string {
  return `${name}, ${shortTime(nanos / 1000)}, ${share} %`;
}

function partTitle(part: Part): string {
  return [partText(part), visible(part.detail)].filter(Boolean).join(" · ");
}

// A step that takes more times the usual one is cut off: all others would be flat beside it.
const HIGHEST = 2.2;

/** The times of steps as a strip of bars, oldest first; a step that is cut off has another colour. */
export function StepTimes({ seconds, room }: { readonly seconds: readonly number[]; readonly room: number }) {
  const shown = seconds.slice(-room);
  const top = highest(shown);
  const paths = { usual: "", cut: "" };
  shown.forEach((each, place) => {
    const height = top ? Math.min(each / top, 1) : 0;
    paths[each > top ? "cut" : "usual"] += `M${place} 1h.8v${-Math.round(1000 * height) / 1000}h-.8z`;
  });
  const text = stripText(shown);
  return (
    <svg class="step-times" viewBox={`0 0 ${room} 1`} preserveAspectRatio="none" role="img" aria-label={text}>
      <title>{text}</title>
      <path d={paths.usual} />
      <path class="cut" d={paths.cut} />
    </svg>
  );
}

/** The time that is drawn as high as the strip. */
function highest(seconds: readonly number[]): number {
  const sorted = seconds.slice().sort((one, other) => one - other);
  return Math.min(HIGHEST * (sorted[sorted.length >> 1] ?? 0), sorted.at(-1) ?? 0);
}

function stripText(seconds: readonly number[]): string {
  if (!seconds.length) return "no step has ended yet";
  const most = Math.max(...seconds);
  const last = seconds.at(-1) as number;
  return `the last ${seconds.length} steps: the longest ${shortTime(1e6 * most)}, the last ${shortTime(1e6 * last)}`;
}
