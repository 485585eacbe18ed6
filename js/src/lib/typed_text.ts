// Quantities as people type them: 250, 5 ms, 3 MiB, 1.5k, 1,234,567; and how a slider says them.

/** What a quantity is counted in; empty for what is counted one by one. */
export type Unit = "µs" | "B" | "";

/** The number that a text stands for, or why it stands for none. */
export type TypedNumber = { readonly value: number } | { readonly reason: string };

const FACTORS: Readonly<Record<Unit, Readonly<Record<string, number>>>> = {
  µs: { ns: 1e-3, us: 1, µs: 1, ms: 1e3, s: 1e6, min: 6e7 },
  B: {
    b: 1,
    kb: 1e3,
    mb: 1e6,
    gb: 1e9,
    tb: 1e12,
    kib: 2 ** 10,
    mib: 2 ** 20,
    gib: 2 ** 30,
    tib: 2 ** 40,
  },
  "": { k: 1e3, m: 1e6, g: 1e9, b: 1e9, t: 1e12 },
};
const EXAMPLES: Readonly<Record<Unit, string>> = {
  µs: "250, 5 ms or 2 s",
  B: "512, 3 MB or 1 GiB",
  "": "100, 1.5k or 2M",
};
const SPOKEN: Readonly<Record<Unit, readonly string[]>> = {
  µs: ["s", "ms", "µs"],
  B: ["GB", "MB", "kB", "B"],
  "": ["G", "M", "k"],
};
// Digits grouped by commas or underscores, or not at all; then perhaps a unit.
const QUANTITY = /^([+-]?(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*)?(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-zµ]*)$/i;
const GROUPING = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** Read what was typed for an option that is counted in this unit and is at least `minimum`. */
export function readQuantity(text: string, unit: Unit, minimum: number): TypedNumber {
  const [, number = "", written = ""] = QUANTITY.exec(text.trim().replace("\u03bc", "µ")) ?? [];
  const factor = factorOf(written, unit);
  if (!/\d/.test(number) || factor === undefined) return { reason: `no number: type ${EXAMPLES[unit]}` };
  const exact = Number(number.replace(/[,_]/g, "")) * factor;
  // A threshold of a tenth of a microsecond is still one.
  const value = exact > 0 && exact < 1 ? 1 : Math.round(exact);
  if (!Number.isSafeInteger(value)) return { reason: "too large: it would not stay exact" };
  return value < minimum ? { reason: `${GROUPING.format(value)} is less than ${minimum}` } : { value };
}

/** What an option is counted in, by its name. */
export function unitOf(option: string): Unit {
  if (option.endsWith("micros")) return "µs";
  return option.endsWith("bytes") ? "B" : "";
}

/** The number with its thousands apart, as `readQuantity` reads it. */
export function grouped(value: number): string {
  return GROUPING.format(value);
}

/** The number and its unit as a screen reader says them. */
export function spokenNumber(value: number, unit: Unit): string {
  const name = SPOKEN[unit].find((each) => value >= (factorOf(each, unit) ?? 0)) ?? unit;
  return `${SHORT.format(value / (factorOf(name, unit) ?? 1))} ${name}`.trim();
}

/** How much a prefix or unit stands for, undefined if it is none. */
function factorOf(written: string, unit: Unit): number | undefined {
  const factors = { "": 1, ...FACTORS[unit] };
  return new Map(Object.entries(factors)).get(written.toLowerCase());
}
