// What an op type does, in six words: the colours of charts and timeline go by it.

import { CATEGORIES, CATEGORY_PATTERNS } from "../data/chart_words.ts";

/** The custom property that has the colour of each category. */
export const CATEGORY_COLOURS = [
  "--op-product",
  "--op-gradient",
  "--op-elementwise",
  "--op-layout",
  "--op-input",
  "--op-other",
] as const;

const OTHER = CATEGORIES.length - 1;
const PATTERNS = CATEGORY_PATTERNS.map(([category, pattern]) => [category, new RegExp(pattern)] as const);

/** The index in CATEGORIES of what an op type does. */
export function categoryOf(op: string): number {
  return PATTERNS.find(([, pattern]) => pattern.test(op))?.[0] ?? OTHER;
}
