// Binary search in sorted numbers.

/** The first index at which an ascending array has more than `value`; its length if it nowhere has. */
export function firstAbove(ascending: Float64Array, value: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] as number) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
