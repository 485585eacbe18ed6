// The sets of characters that a regex can name, spelled as classes of JavaScript's `v` mode.

/** Which characters a place in a regex takes; `key` tells equal sets apart from others. */
export interface CharacterSet {
  readonly key: string;
  has(codePoint: number): boolean;
}

/** The set of a class's source; with `folds` letters stand for both cases, as Unicode folds them. */
export function characterSet(source: string, folds: boolean): CharacterSet {
  const pattern = new RegExp(`^${source}$`, folds ? "iv" : "v");
  return {
    key: `${folds ? "i" : ""}${source}`,
    has: (codePoint) => pattern.test(String.fromCodePoint(codePoint)),
  };
}

/** The source of one character. */
export function character(codePoint: number): string {
  return `\\u{${codePoint.toString(16)}}`;
}

/** The source of all characters between two, both included. */
export function range(first: number, last: number): string {
  return `${character(first)}-${character(last)}`;
}

/** The source of what none of the sources has. */
export function noneOf(source: string): string {
  return `[^${source}]`;
}

export const ANY = "[^]";
export const NO_LINE_END = "[^\\n]";

const DIGIT = "0-9";
const WORD = "0-9A-Z_a-z";

/** By the letter after the backslash; the capital is the complement. `\s` lacks the vertical tab, as in RE2. */
export const PERL_CLASSES: ReadonlyMap<string, string> = new Map([
  ["d", DIGIT],
  ["s", "\\t\\n\\f\\r\\u{20}"],
  ["w", WORD],
]);

/** By the name between `[:` and `:]`. */
export const POSIX_CLASSES: ReadonlyMap<string, string> = new Map([
  ["alnum", "0-9A-Za-z"],
  ["alpha", "A-Za-z"],
  ["ascii", "\\0-\\x7f"],
  ["blank", "\\t\\u{20}"],
  ["cntrl", "\\0-\\x1f\\x7f"],
  ["digit", DIGIT],
  ["graph", "\\x21-\\x7e"],
  ["lower", "a-z"],
  ["print", "\\x20-\\x7e"],
  ["punct", "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e"],
  ["space", "\\t\\n\\v\\f\\r\\u{20}"],
  ["upper", "A-Z"],
  ["word", WORD],
  ["xdigit", "0-9A-Fa-f"],
]);

const CATEGORIES = new Set(
  "Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs".split(
    " ",
  ),
);
// JavaScript knows scripts by short names too, RE2 by their own only; these are as short.
const SHORT_SCRIPTS = new Set(["Ahom", "Cham", "Lisu", "Miao", "Thai", "Toto"]);

/** The source of a general category or a script by RE2's name, undefined for one that it does not know. */
export function unicodeClass(name: string): string | undefined {
  if (name === "Any") return ANY;
  if (name === "C") return "\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}"; // RE2 leaves out what is not assigned
  if (CATEGORIES.has(name)) return `\\p{${name}}`;
  if (!/^[A-Z][A-Za-z_]+$/.test(name) || (name.length === 4 && !SHORT_SCRIPTS.has(name))) return undefined;
  try {
    const source = `\\p{Script=${name}}`;
    new RegExp(source, "v");
    return source;
  } catch {
    return undefined;
  }
}
