// Workers in the order in which people look at them, which tfprof_widget/analysis/comparison.py has too.

/** The workers, each once: what is called earlier comes first, then by name, and 2 before 10. */
export function workersAmong(workers: Iterable<string>): readonly string[] {
  const rank = (worker: string): number => (/^(before|base|baseline|old)\b/i.test(worker) ? 0 : 1);
  return [...new Set(workers)].sort(
    (one, other) => rank(one) - rank(other) || byNumber(one, other) || (one < other ? -1 : 1),
  );
}

/** Compares text with text and numbers with numbers, which alternate in names that are parted so. */
function byNumber(one: string, other: string): number {
  const [parts, others] = [one.split(/(\d+)/), other.split(/(\d+)/)];
  for (const [place, part] of parts.slice(0, others.length).entries()) {
    const against = others[place] as string;
    const [left, right] = place % 2 ? [BigInt(part), BigInt(against)] : [part, against];
    if (left !== right) return left < right ? -1 : 1;
  }
  return parts.length - others.length;
}
