// A stacked bar as a list: its parts laid end to end, each with its name, time and share, and where a click leads.

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

// A letter takes so many percent of a wide bar: what does not fit into a part is told below as well, in a narrow one all.
const LETTER_PERCENT = 0.62;

/** The bar with its name and its whole. */
export function StackedBar({ label, parts, lacking, choose }: BarProps) {
  const whole = parts.reduce((sum, { nanos }) => sum + nanos, 0);
  return (
    <div class="stacked">
      <span class="of" aria-hidden="true">
        {label}
      </span>
      <ul aria-label={label}>
        {parts.length ? (
          parts.map((part) => (
            <li key={part.key} data-part={part.key} style={{ flexGrow: part.nanos }}>
              <button type="button" title={titleOf(part)} onClick={() => choose(part)}>
                {textOf(part)}
              </button>
            </li>
          ))
        ) : (
          <li class="lacking">{lacking}</li>
        )}
      </ul>
      <b aria-hidden="true">{whole ? shortTime(whole / 1000) : ""}</b>
      <span class="below" aria-hidden="true">
        {parts.map((part) => (
          <span key={part.key} data-part={part.key} data-fits={fits(part) || undefined}>
            {textOf(part)}
          </span>
        ))}
      </span>
    </div>
  );
}

function textOf({ name, nanos, share }: Part): string {
  return `${name}, ${shortTime(nanos / 1000)}, ${share} %`;
}

function fits(part: Part): boolean {
  return part.share >= LETTER_PERCENT * textOf(part).length;
}

function titleOf(part: Part): string {
  return [textOf(part), visible(part.detail)].filter(Boolean).join(" · ");
}
