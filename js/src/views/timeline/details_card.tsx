// What is known of the slice that the pointer is over, beside the pointer.

import { useLayoutEffect, useRef } from "preact/hooks";
import { detailsOf } from "./details.ts";
import type { TimelineState } from "./state.ts";

const DISTANCE = 12;

/** A card of text above everything else, so that neither widget nor notebook cuts it off; the pointer goes through it. */
export function DetailsCard({ state }: { readonly state: TimelineState }) {
  const card = useRef<HTMLDivElement>(null);
  const { hovered, pointed } = state;
  const details = hovered.value && detailsOf(state, hovered.value);
  const isShown = details !== null;
  useLayoutEffect(() => {
    if (isShown) card.current?.showPopover?.();
  }, [isShown]);
  if (!details) return null;
  return (
    <div ref={card} class="card" popover="manual" aria-hidden="true" style={besides(pointed.value)}>
      <b>{details.name}</b>
      <dl>
        {details.facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** On the side of the pointer on which there is more room. */
function besides({ x, y }: { readonly x: number; readonly y: number }): Record<string, string> {
  const [width, height] = [document.documentElement.clientWidth, innerHeight];
  return {
    ...(x > width / 2 ? { right: `${width - x + DISTANCE}px` } : { left: `${x + DISTANCE}px` }),
    ...(y > height / 2 ? { bottom: `${height - y + DISTANCE}px` } : { top: `${y + DISTANCE}px` }),
  };
}
