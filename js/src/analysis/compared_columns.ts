// The columns beside the workers' own: for two how the second differs from the first, for more how far they are apart.

import type { Measure } from "../engine/measures.ts";
import { short } from "../lib/format.ts";
import { times } from "./figures.ts";
import type { ComparedRow } from "./workers.ts";

/** A column of the table. */
export interface ComparedColumn {
  readonly title: string;
  readonly help: string;
  readonly text: (row: ComparedRow) => string;
}

/** The columns for so many workers; of two, `from` is the one that the other is measured against. */
export function comparedColumns(measure: Measure, workers: number, from: 0 | 1): readonly ComparedColumn[] {
  if (workers !== 2) {
    return [
      { title: "mean", help: "of all workers", text: ({ mean }) => short(measure, mean) },
      {
        title: "spread",
        help: "the largest over the mean: 1.00 × where all are alike",
        text: ({ spread }) => times(spread, 1),
      },
    ];
  }
  const ends = ({ values }: ComparedRow): readonly [number, number] => [
    values[from] ?? 0,
    values[1 - from] ?? 0,
  ];
  return [
    {
      title: "difference",
      help: "the second less the first",
      text: (row) => {
        const [before, after] = ends(row);
        const sign = after > before ? "+" : after < before ? "−" : "";
        return sign + short(measure, Math.abs(after - before));
      },
    },
    {
      title: "ratio",
      help: "the second over the first",
      text: (row) => {
        const [before, after] = ends(row);
        return before === 0 && after > 0 ? "new" : times(after, before);
      },
    },
  ];
}
