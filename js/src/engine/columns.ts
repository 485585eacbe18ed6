// The typed arrays that the engine works on: quantities are doubles, exact below 2^53; only indices are int32.

export type Numbers = Float64Array;
export type Indices = Int32Array;
/** A 1 for yes and a 0 for no. */
export type Flags = Uint8Array;

/** The values at some positions. */
export function gatheredNumbers(values: Numbers, positions: Indices): Numbers {
  const found = new Float64Array(positions.length);
  for (let i = 0; i < positions.length; i++) found[i] = values[positions[i] as number] as number;
  return found;
}

/** The indices at some positions. */
export function gatheredIndices(values: Indices, positions: Indices): Indices {
  const found = new Int32Array(positions.length);
  for (let i = 0; i < positions.length; i++) found[i] = values[positions[i] as number] as number;
  return found;
}

/** The flags at some positions. */
export function gatheredFlags(values: Flags, positions: Indices): Flags {
  const found = new Uint8Array(positions.length);
  for (let i = 0; i < positions.length; i++) found[i] = values[positions[i] as number] as number;
  return found;
}

/** Where the flags are set. */
export function positionsOf(flags: Flags): Indices {
  const found = new Int32Array(countOf(flags));
  for (let i = 0, count = 0; i < flags.length; i++) if (flags[i]) found[count++] = i;
  return found;
}

/** How many flags are set. */
export function countOf(flags: Flags): number {
  let count = 0;
  for (let i = 0; i < flags.length; i++) count += flags[i] as number;
  return count;
}

/** The indices 0, 1, 2, ... */
export function countedUp(length: number): Indices {
  const found = new Int32Array(length);
  for (let i = 0; i < length; i++) found[i] = i;
  return found;
}
