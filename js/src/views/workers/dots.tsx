// The workers' values of a row as dots on a line from nothing to the largest.

interface DotsProps {
  readonly values: readonly number[];
  readonly mean: number;
  /** What a dot says to the pointer. */
  readonly title: (index: number) => string;
}

/** More workers than there are colours are all of one. */
export const COLOURS = 6;

/** The colour of a worker among so many. */
export function workerColour(index: number, of: number): string {
  return of > COLOURS ? "color-mix(in srgb, var(--own) 60%, transparent)" : `var(--category-${index + 1})`;
}

/** A dot a worker and a tick at the mean; the numbers stand beside it, so a screen reader passes it over. */
export function Dots({ values, mean, title }: DotsProps) {
  const largest = Math.max(...values, 0);
  const place = (value: number): string => `${largest ? (100 * value) / largest : 0}%`;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return (
    <span class="dots" aria-hidden="true">
      <i class="range" style={{ insetInlineStart: place(least), inlineSize: place(most - least) }} />
      <i class="tick" style={{ insetInlineStart: place(mean) }} />
      {values.map((value, index) => (
        <i
          key={index}
          class="dot"
          title={title(index)}
          style={{ insetInlineStart: place(value), background: workerColour(index, values.length) }}
        />
      ))}
    </span>
  );
}
