// Sets of characters: the escapes and classes of RE2's syntax, and Unicode's folding of cases.

/** A regex that is not of RE2's syntax, or not for a browser. */
export class RegexError extends Error {
  /** `culprit` is the part of the regex that is wrong. */
  constructor(reason: string, culprit?: string) {
    super(culprit === undefined ? reason : `${reason}: ${culprit}`);
  }
}

/** A text and how far it has been read. */
export class Cursor {
  position = 0;

  constructor(readonly text: string) {}

  get isAtEnd(): boolean {
    return this.position >= this.text.length;
  }

  /** The next character, empty at the end. */
  peek(): string {
    const codePoint = this.text.codePointAt(this.position);
    return codePoint === undefined ? "" : String.fromCodePoint(codePoint);
  }

  /** Read the next character. */
  next(): string {
    const found = this.peek();
    this.position += found.length;
    return found;
  }

  /** Read these characters if they come next. */
  takeIf(expected: string): boolean {
    const comes = this.text.startsWith(expected, this.position);
    if (comes) this.position += expected.length;
    return comes;
  }

  /** Read what matches a sticky pattern here. */
  takeMatch(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text);
    if (found) this.position += found[0].length;
    return found;
  }
}

const CONTROLS: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
]);
const LARGEST = 0x10ffff;

/** The character of an escape; its backslash has been read. */
export function readEscape(cursor: Cursor): number {
  const start = cursor.position - 1;
  if (cursor.isAtEnd) throw new RegexError("trailing \\");
  const hexadecimal = cursor.takeMatch(/x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))/y);
  const octal = hexadecimal ? null : cursor.takeMatch(/0[0-7]{0,2}|[1-7][0-7]{1,2}/y);
  if (hexadecimal || octal) {
    const value = hexadecimal
      ? Number.parseInt((hexadecimal[1] ?? hexadecimal[2]) as string, 16)
      : Number.parseInt((octal as RegExpExecArray)[0], 8);
    if (value <= LARGEST) return value;
    throw badEscape(cursor, start);
  }
  const next = cursor.next();
  const control = CONTROLS.get(next);
  if (control !== undefined) return control;
  if (!/[\0-\x7f]/.test(next) || /[0-9A-Za-z]/.test(next)) throw badEscape(cursor, start);
  return next.codePointAt(0) as number;
}

/** The source of a class in brackets, the first of which has been read. */
export function readClass(cursor: Cursor): string {
  const start = cursor.position - 1;
  const isNegated = cursor.takeIf("^");
  let source = "";
  for (let isFirst = true; isFirst || cursor.peek() !== "]"; isFirst = false) {
    if (cursor.isAtEnd) throw new RegexError("missing ]", cursor.text.slice(start));
    source += readItem(cursor, start);
  }
  cursor.next();
  return isNegated ? noneOf(source) : `[${source}]`;
}

/** The source of `\p` and what follows it; the backslash has been read. */
export function readUnicodeClass(cursor: Cursor): string {
  const start = cursor.position - 1;
  const isNegated = cursor.next() === "P";
  const braced = cursor.peek() === "{";
  const found = braced ? cursor.takeMatch(/\{(\^?)([^}]*)\}/y) : cursor.takeMatch(/()(.?)/suy);
  const [, caret = "", name = ""] = found ?? [];
  const source = found && unicodeClass(name);
  if (!source) {
    throw new RegexError(
      "invalid character class range",
      cursor.text.slice(start, found ? cursor.position : undefined),
    );
  }
  return isNegated === (caret === "^") ? `[${source}]` : noneOf(source);
}

function readItem(cursor: Cursor, start: number): string {
  const posix = cursor.takeMatch(/\[:(\^?)(.*?):\]/sy);
  if (posix) {
    const source = POSIX_CLASSES.get(posix[2] as string);
    if (source === undefined) throw new RegexError("invalid character class range", posix[0]);
    return posix[1] ? noneOf(source) : source;
  }
  const escaped = cursor.text.startsWith("\\", cursor.position)
    ? cursor.text[cursor.position + 1]
    : undefined;
  if (escaped === "p" || escaped === "P") {
    cursor.next();
    return readUnicodeClass(cursor);
  }
  const perlClass = escaped && PERL_CLASSES.get(escaped.toLowerCase());
  if (perlClass) {
    cursor.position += 2;
    return escaped === escaped.toLowerCase() ? perlClass : noneOf(perlClass);
  }
  return readRange(cursor, start);
}

function readRange(cursor: Cursor, classStart: number): string {
  const start = cursor.position;
  const first = readMember(cursor, classStart);
  if (!cursor.text.startsWith("-", cursor.position) || cursor.text[cursor.position + 1] === "]") {
    return character(first);
  }
  if (cursor.position + 1 >= cursor.text.length) return character(first); // the class has no end either
  cursor.next();
  const last = readMember(cursor, classStart);
  if (last >= first) return range(first, last);
  throw new RegexError("invalid character class range", cursor.text.slice(start, cursor.position));
}

function readMember(cursor: Cursor, classStart: number): number {
  if (cursor.isAtEnd) throw new RegexError("missing ]", cursor.text.slice(classStart));
  if (cursor.takeIf("\\")) return readEscape(cursor);
  return cursor.next().codePointAt(0) as number;
}

function badEscape(cursor: Cursor, start: number): RegexError {
  return new RegexError("invalid escape sequence", cursor.text.slice(start, cursor.position));
}

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
const POSIX_CLASSES: ReadonlyMap<string, string> = new Map([
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
function unicodeClass(name: string): string | undefined {
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
