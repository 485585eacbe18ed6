// The part of the time that is seen.

/** From one time to another, in nanoseconds of the layout. */
export interface Viewport {
  readonly from: number;
  readonly to: number;
}

/** The shortest time that can fill the width. */
const SHORTEST = 200;

/** The whole, with a little air at the right. */
export function fitted(end: number): Viewport {
  return { from: 0, to: Math.max(end, SHORTEST) };
}

/** A part with some of what is around it, within the whole. */
export function around(part: Viewport, end: number): Viewport {
  const air = (part.to - part.from) * 0.02;
  return within({ from: part.from - air, to: part.to + air }, end);
}

/** `factor` times as much as now, while the time `at` stays where it is. */
export function zoomed({ from, to }: Viewport, factor: number, at: number, end: number): Viewport {
  const length = Math.max((to - from) * factor, SHORTEST);
  const left = at - ((at - from) / (to - from)) * length;
  return within({ from: left, to: left + length }, end);
}

/** As much as now, further to the right by some time. */
export function panned({ from, to }: Viewport, by: number, end: number): Viewport {
  return within({ from: from + by, to: to + by }, end);
}

/** Moved as little as it takes to see a slice, or the start of one that is longer than what is seen. */
export function showing(viewport: Viewport, from: number, to: number, end: number): Viewport {
  const length = viewport.to - viewport.from;
  const air = Math.max(Math.min((length - (to - from)) / 2, length / 10), 0);
  if (from < viewport.from || (to > viewport.to && air === 0)) {
    return panned(viewport, from - air - viewport.from, end);
  }
  return to > viewport.to ? panned(viewport, to + air - viewport.to, end) : viewport;
}

function within({ from, to }: Viewport, end: number): Viewport {
  const whole = fitted(end);
  const length = Math.min(Math.max(to - from, SHORTEST), whole.to);
  const left = Math.min(Math.max(from, 0), whole.to - length);
  return { from: left, to: left + length };
}
