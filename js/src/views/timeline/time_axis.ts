// The marks of the time axis.

const UNITS: readonly (readonly [nanos: number, unit: string])[] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** The distance of marks, 1, 2 or 5 times a power of ten, so that at most `most` fit into a length. */
export function markDistance(length: number, most: number): number {
  const least = length / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

/** A mark's time, as exact as the distance of the marks: 1.25 ms among marks 0.05 ms apart. */
export function markText(nanos: number, distance: number): string {
  if (nanos === 0) return "0";
  const [size, unit] = UNITS.find(([each]) => nanos >= each) ?? [1, "ns"];
  const places = Math.max(Math.ceil(-Math.log10(distance / size) - 1e-9), 0);
  return `${(nanos / size).toFixed(places)} ${unit}`;
}
