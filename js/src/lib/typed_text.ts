// Reads what people type: quantities, lists of regexes; and says at which stops a slider halts.

/** What a quantity is counted in; empty for what is counted one by one. */
type Unit = "µs" | "B" | "";

/** The number that a text stands for, or why it stands for none. */
type TypedNumber = { readonly value: number } | { readonly reason: string };

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

const MANTISSAS = [1, 2, 5];
// So far a tree is counted level by level; below that, deeper is all one.
const COUNTED = 20;

/** Where a threshold can stand: at 0, at 1, 2, 5, 10, ... and at the largest value that anything reaches. */
export function thresholdStops(largest: number): readonly number[] {
  const last = Math.max(1, Math.floor(largest));
  return [0, ...oneTwoFive(1, last), last];
}

/** Where a depth can stand: at every level, and from twenty on at 50, 100, 200, ... and at the deepest. */
export function depthStops(deepest: number): readonly number[] {
  const last = Math.max(1, deepest);
  const counted = Array.from({ length: Math.min(last, COUNTED) }, (_, level) => level + 1);
  return last <= COUNTED ? counted : [...counted, ...oneTwoFive(COUNTED + 1, last), last];
}

/** The stop that is closest to a value; below 1 only 0 is close. */
export function nearestStop(stops: readonly number[], value: number): number {
  let nearest = 0;
  for (let stop = 1; stop < stops.length; stop++) {
    if (distance(stops[stop] as number, value) < distance(stops[nearest] as number, value)) nearest = stop;
  }
  return nearest;
}

/** The stop that is so many stops above or below a value, or the last on that side; the value if there is none. */
export function neighbour(stops: readonly number[], value: number, by: number): number {
  const beyond = stops.filter((stop) => (stop - value) * by > 0);
  return (by > 0 ? beyond.slice(0, by).at(-1) : beyond.slice(by)[0]) ?? value;
}

/** How many values stand at each stop or between it and the next. */
export function countsAt(stops: readonly number[], values: Float64Array, unit: number): Float64Array {
  const counts = new Float64Array(stops.length);
  for (const value of values) {
    const amount = value / unit;
    let stop = stops.length - 1;
    while (stop > 0 && (stops[stop] as number) > amount) stop--;
    counts[stop] = (counts[stop] as number) + 1;
  }
  return counts;
}

function oneTwoFive(first: number, end: number): readonly number[] {
  const found: number[] = [];
  for (let power = 1; power < end; power *= 10) {
    found.push(
      ...MANTISSAS.map((mantissa) => mantissa * power).filter((stop) => stop >= first && stop < end),
    );
  }
  return found;
}

function distance(one: number, other: number): number {
  return Math.abs(Math.log1p(one) - Math.log1p(other));
}

// What holds together: quoted text, an escaped character, a class with its classes, a repetition. What is not closed goes
// on to the end, so that no text is read more than once.
const WHOLE =
  /\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]?|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*(?:\]|\\?$)|\{[^{},\s]*,[^{},\s]*\}|[\s\S]/g;

/** The regexes of a line; spaces around them do not belong to them. */
export function splitRegexes(line: string): readonly string[] {
  return parts(line)
    .map((part) => part.replace(/^\s+|(?<!\\)\s+$/g, ""))
    .filter((part) => part !== "");
}

/**
 * The line of some regexes, which splits into the same ones again. What would fall apart is written otherwise and means
 * the same: a bare comma as [,], a space at an end as [ ], and the regex of the empty name as ().
 */
export function joinRegexes(regexes: readonly string[]): string {
  return regexes.map(written).join(", ");
}

function written(regex: string): string {
  const kept = parts(regex).join("[,]");
  return kept === "" ? "()" : kept.replace(/^\s|(?<!\\)\s$/g, (space) => `[${space}]`);
}

/** The line, cut at the commas that stand alone. */
function parts(line: string): readonly string[] {
  const found = [""];
  let open = 0;
  for (const [whole] of line.matchAll(WHOLE)) {
    if (whole === "(") open++;
    if (whole === ")" && open > 0) open--;
    if (whole === "," && open === 0) found.push("");
    else found[found.length - 1] += whole;
  }
  return found;
}
