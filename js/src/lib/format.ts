// Writes numbers and names: short numbers with their units, unseen characters made visible, a name as a regex.

type Scale = readonly (readonly [factor: number, unit: string])[];

const SECONDS: Scale = [
  [1e6, "s"],
  [1e3, "ms"],
  [1, "µs"],
  [1e-3, "ns"],
];
const POWERS: Scale = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
// Up to here a count is read better in full.
const LARGEST_IN_FULL = 99_999;

/** Microseconds: 412.6 ms, 350 ns. */
export function shortTime(micros: number): string {
  return scaled(micros, SECONDS, "");
}

/** Bytes in powers of ten: 318.4 MB, 512 B. */
export function shortBytes(bytes: number): string {
  return scaled(bytes, POWERS, "B");
}

/** A count: 7,904 in full, then 41.2 M. */
export function shortCount(count: number): string {
  return Math.abs(count) <= LARGEST_IN_FULL ? WHOLE.format(rounded(count)) : scaled(count, POWERS, "");
}

/** What is counted in a unit of its own: 41.2 GFLOP, 110 GFLOP/s. */
export function shortUnits(count: number, unit: string): string {
  return scaled(count, POWERS, unit);
}

/** A part of a whole: 13.3 %. */
export function share(part: number, whole: number): string {
  return whole && part ? `${((100 * part) / whole).toFixed(1)} %` : "–";
}

/** A value of a measure, whose name tells its unit by its ending: microseconds, bytes, or a count. */
export function short(measure: string, value: number): string {
  if (measure.endsWith("micros")) return shortTime(value);
  return measure.endsWith("bytes") ? shortBytes(value) : shortCount(value);
}

/** The same in full, with its unit. */
export function exact(measure: string, value: number): string {
  return `${WHOLE.format(value)} ${exactUnit(measure)}`;
}

function exactUnit(measure: string): string {
  if (measure.endsWith("micros")) return "µs";
  if (measure.endsWith("bytes")) return "B";
  return { float_ops: "FLOP", params: "parameters" }[measure] ?? "runs";
}

function scaled(value: number, scale: Scale, unit: string): string {
  const size = Math.abs(value);
  if (size === 0) return `0 ${unit || scale.at(-2)?.[1]}`.trim();
  // What would be written as 1,000 of a unit is one of the next.
  const [factor, prefix] = scale.find(([each]) => size >= 0.99995 * each) ?? scaleless(scale);
  return `${digits(value / factor)} ${prefix}${unit}`.trim();
}

/** What is smaller than the smallest unit is written in it; counts have one without a name. */
function scaleless(scale: Scale): readonly [number, string] {
  return scale === SECONDS ? [1e-3, "ns"] : [1, ""];
}

function digits(value: number): string {
  // 0.35 of a thousand is 350, whatever doubles make of it.
  const whole = Math.round(value);
  if (Math.abs(value - whole) < 1e-9 && Math.abs(whole) < 1000) return String(whole);
  // The last digits of a double differ by how the value was computed: they are not to decide what is half-way.
  return Number(value.toPrecision(12)).toFixed(Math.abs(value) < 9.995 ? 2 : 1);
}

function rounded(count: number): number {
  return Math.abs(count) < 10 ? count : Math.round(count);
}

const UNSEEN =
  /[\p{Cc}\xa0\xad\u061c\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\u{e0000}-\u{e007f}]/gu;

// oneDNN's kernels, which TensorFlow puts in the place of its own, are named after these.
const KERNEL = /^_Mkl(Native)?(?=.)/s;

/** An op type without the mark of oneDNN's kernels. */
export function plainType(type: string): string {
  return type.replace(KERNEL, "");
}

/** A name in which every character is seen. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0) as number;
    const short: Readonly<Record<string, string>> = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
    const hex = (digits: number) => code.toString(16).padStart(digits, "0");
    return (
      short[character] ?? (code < 0x100 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`)
    );
  });
}

/** The same of a text that has lines of its own, which stay. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

/** A regex that matches this name alone, in RE2 as in RegExp, as Python's `re.escape` writes it. */
export function asRegex(name: string): string {
  return name.replace(/[()[\]{}?*+\-|^$\\.&~# \t\n\r\v\f]/g, "\\$&");
}

// What makes a spreadsheet compute a cell instead of showing it; see OWASP on CSV injection.
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** The text of a cell that is shown as it is, and never computed. */
export function uncomputed(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

const NATURAL = new Intl.Collator("en", { numeric: true });

/** Compares names as people count: a_2 before a_10. */
export function inNaturalOrder(one: string, other: string): number {
  return NATURAL.compare(one, other);
}
