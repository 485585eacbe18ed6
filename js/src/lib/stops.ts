// The stops of a slider: on a scale on which a microsecond and a second both have their place.

const MANTISSAS = [1, 2, 5];
// So far a tree is counted level by level; below that, deeper is all one.
const COUNTED = 20;

/** Where a threshold can stand: at 0, at 1, 2, 5, 10, ... and at the largest value that anything reaches. */
export function thresholdStops(largest: number): readonly number[] {
  const last = Math.max(1, Math.floor(largest));
  return [0, ...oneTwoFive(1, last), last];
}

/** Where a depth can stand: at every level, and from twenty on at 50, 100, 200, ... and at the deepest. */
export function depthStops(deepest: number): readonly number[] {
  const last = Math.max(1, deepest);
  const counted = Array.from({ length: Math.min(last, COUNTED) }, (_, level) => level + 1);
  return last <= COUNTED ? counted : [...counted, ...oneTwoFive(COUNTED + 1, last), last];
}

/** The stop that is closest to a value; below 1 only 0 is close. */
export function nearestStop(stops: readonly number[], value: number): number {
  let nearest = 0;
  for (let stop = 1; stop < stops.length; stop++) {
    if (distance(stops[stop] as number, value) < distance(stops[nearest] as number, value)) nearest = stop;
  }
  return nearest;
}

/** The stop that is so many stops above or below a value, or the last on that side; the value if there is none. */
export function neighbour(stops: readonly number[], value: number, by: number): number {
  const beyond = stops.filter((stop) => (stop - value) * by > 0);
  return (by > 0 ? beyond.slice(0, by).at(-1) : beyond.slice(by)[0]) ?? value;
}

/** How many values stand at each stop or between it and the next. */
export function countsAt(stops: readonly number[], values: Float64Array, unit: number): Float64Array {
  const counts = new Float64Array(stops.length);
  for (const value of values) {
    const amount = value / unit;
    let stop = stops.length - 1;
    while (stop > 0 && (stops[stop] as number) > amount) stop--;
    counts[stop] = (counts[stop] as number) + 1;
  }
  return counts;
}

function oneTwoFive(first: number, end: number): readonly number[] {
  const found: number[] = [];
  for (let power = 1; power < end; power *= 10) {
    found.push(
      ...MANTISSAS.map((mantissa) => mantissa * power).filter((stop) => stop >= first && stop < end),
    );
  }
  return found;
}

function distance(one: number, other: number): number {
  return Math.abs(Math.log1p(one) - Math.log1p(other));
}
