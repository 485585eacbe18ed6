/// <reference types="vite/client" />
// How long the fuzz tests run: briefly among the tests, for as long as VITE_FUZZ_RUNS says in `make fuzz`.

/** How many inputs a property is tried on: in a plain run so many, which are the same each time. */
export function runs(usual: number): { numRuns: number; seed?: number } {
  const asked = Number(import.meta.env.VITE_FUZZ_RUNS ?? 0);
  return asked > usual ? { numRuns: asked } : { numRuns: usual, seed: 0 };
}

export const PATIENCE_MILLISECONDS = 1_800_000;

/** An error only if it is none of the documented kinds. */
export function undocumented(
  error: unknown,
  ...kinds: readonly (new (
    ...given: never[]
  ) => Error)[]
): unknown {
  return kinds.some((kind) => error instanceof kind) ? undefined : error;
}
