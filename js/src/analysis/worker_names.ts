// Workers in the order in which people look at them.

const BY_NUMBER = new Intl.Collator("en", { numeric: true });

/** The workers, each once: what is called earlier comes first, then by name, and 2 before 10. */
export function workersAmong(workers: Iterable<string>): readonly string[] {
  const rank = (worker: string): number => (/^(before|base|baseline|old)\b/i.test(worker) ? 0 : 1);
  return [...new Set(workers)].sort(
    (one, other) => rank(one) - rank(other) || BY_NUMBER.compare(one, other) || (one < other ? -1 : 1),
  );
}
