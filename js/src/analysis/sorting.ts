// Sorts positions by whole numbers, stably and in linear time: a comparison sort of a million takes a second.

const BITS = 16;
const DIGITS = 2 ** BITS;
const WORD = 2 ** 32;

/**
 * The positions in `order` by ascending key; positions with the same key stay as they are. Keys are whole, not
 * negative and below 2**53.
 */
export function sortedByKey(order: Int32Array, keys: Float64Array): Int32Array {
  let largest = 0;
  for (const position of order) if ((keys[position] as number) > largest) largest = keys[position] as number;
  let [sorted, spare] = [order.slice(), new Int32Array(order.length)];
  for (let unit = 1; unit <= largest; unit *= WORD) {
    const word = new Uint32Array(keys.length);
    for (let i = 0; i < keys.length; i++) word[i] = Math.floor((keys[i] as number) / unit) % WORD;
    for (let shift = 0; shift < 32 && largest >= unit * 2 ** shift; shift += BITS) {
      sortByDigit(sorted, spare, word, shift);
      [sorted, spare] = [spare, sorted];
    }
  }
  return sorted;
}

function sortByDigit(from: Int32Array, to: Int32Array, word: Uint32Array, shift: number): void {
  const next = new Int32Array(DIGITS + 1);
  for (let i = 0; i < from.length; i++) {
    const digit = ((word[from[i] as number] as number) >>> shift) % DIGITS;
    next[digit + 1] = (next[digit + 1] as number) + 1;
  }
  for (let digit = 0; digit < DIGITS; digit++) {
    next[digit + 1] = (next[digit + 1] as number) + (next[digit] as number);
  }
  for (let i = 0; i < from.length; i++) {
    const digit = ((word[from[i] as number] as number) >>> shift) % DIGITS;
    const place = next[digit] as number;
    next[digit] = place + 1;
    to[place] = from[i] as number;
  }
}
