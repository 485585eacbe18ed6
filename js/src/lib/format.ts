// Numbers as native tfprof prints them: short, decimal, two places from a thousand on.
// Counts are int64, so they may come as bigint; a double above 2^53 is exact enough for three digits.

/** A count: 999, 1.23k, 1.23m, 1.23b. */
export function formatNumber(count: number | bigint): string {
  if (count < 1e3) return String(count);
  if (count < 1e6) return `${scaled(count, 1e3)}k`;
  if (count < 1e9) return `${scaled(count, 1e6)}m`;
  return `${scaled(count, 1e9)}b`;
}

/** Microseconds: 999us, 1.23ms, 1.23sec. */
export function formatTime(micros: number | bigint): string {
  if (micros < 1e3) return `${micros}us`;
  if (micros < 1e6) return `${scaled(micros, 1e3)}ms`;
  return `${scaled(micros, 1e6)}sec`;
}

/** Bytes, in powers of ten: 999B, 1.23KB, 1.23MB. */
export function formatMemory(bytes: number | bigint): string {
  if (bytes < 1e3) return `${bytes}B`;
  if (bytes < 1e6) return `${scaled(bytes, 1e3)}KB`;
  return `${scaled(bytes, 1e6)}MB`;
}

/** A shape: 7x7x3x64; an unknown dimension is -1. */
export function formatShape(dimensions: readonly (number | bigint)[]): string {
  return dimensions.join("x");
}

function scaled(value: number | bigint, unit: number): string {
  return twoPlaces(Number(value) / unit);
}

/**
 * C's `%.2f` of a value that is not negative. It differs from `toFixed` in ties only: C takes the even digit,
 * `toFixed` the larger one. A double lies half-way between two hundredths only at an odd eighth, and of those .125
 * and .625 have the even digit below: a little less than the tie leads there.
 */
function twoPlaces(value: number): string {
  const tieWithEvenBelow = value % 0.5 === 0.125;
  return (tieWithEvenBelow ? value - 2 ** -8 : value).toFixed(2);
}
