// What the pointer is on, in exact numbers, beside the pointer and within the chart.

import type { Lines } from "./drawn.ts";

/** The lines, and where in a chart of this width. */
export interface Tip {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly lines: Lines;
}

/** The first line is what it is, the others what is known of it. */
export function Tooltip({ tip }: { readonly tip: Tip }) {
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
