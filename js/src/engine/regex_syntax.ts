// Reads a regex as RE2 does, into a tree; what RE2 refuses is refused in its words.

import {
  ANY,
  type CharacterSet,
  Cursor,
  character,
  characterSet,
  NO_LINE_END,
  noneOf,
  PERL_CLASSES,
  RegexError,
  readClass,
  readEscape,
  readUnicodeClass,
} from "./regex_classes.ts";

/** Where a place lies: at an end of the text or of a line, at an edge of a word or inside or outside of one. */
export type Assertion = "textStart" | "textEnd" | "lineStart" | "lineEnd" | "wordEdge" | "noWordEdge";

/** A part of a regex. Greedy or not makes no difference to whether a whole name matches. */
export type RegexPart =
  | { readonly kind: "characters"; readonly set: CharacterSet }
  | { readonly kind: "assertion"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly parts: readonly RegexPart[] }
  | { readonly kind: "choice"; readonly parts: readonly RegexPart[] }
  | { readonly kind: "repetition"; readonly part: RegexPart; readonly least: number; readonly most: number };

// As in RE2: the largest count, also of counts in counts, and the deepest nesting.
const MOST_REPETITIONS = 1000;
const DEEPEST = 1000;

interface Flags {
  readonly folds: boolean;
  readonly dotAll: boolean;
  readonly multiline: boolean;
}

/** A group while it is read: the choices so far, and the last one's parts. */
interface Group {
  readonly choices: RegexPart[];
  parts: RegexPart[];
  readonly flagsOutside: Flags;
}

/** The tree of a regex. */
export function parsed(regex: string): RegexPart {
  return new Parser(regex).parse();
}

class Parser {
  readonly #cursor: Cursor;
  #flags: Flags = { folds: false, dotAll: false, multiline: false };
  readonly #groups: Group[] = [];
  /** How often a part repeats what is in it, counts in counts multiplied. */
  readonly #repetitions = new WeakMap<RegexPart, number>();
  /** Where the repetition operator that was read last starts, if nothing came after it. */
  #repeatedFrom = -1;

  constructor(regex: string) {
    this.#cursor = new Cursor(regex);
    this.#open(this.#flags);
  }

  parse(): RegexPart {
    const cursor = this.#cursor;
    while (!cursor.isAtEnd) {
      const repeatedFrom = this.#repeatedFrom;
      this.#repeatedFrom = -1;
      this.#readPart(repeatedFrom);
    }
    if (this.#groups.length > 1) throw new RegexError("missing )", cursor.text);
    return this.#close();
  }

  #readPart(repeatedFrom: number): void {
    const [cursor, flags] = [this.#cursor, this.#flags];
    const start = cursor.position;
    const next = cursor.next();
    switch (next) {
      case "(":
        this.#readGroup();
        break;
      case ")":
        if (this.#groups.length === 1) throw new RegexError("unexpected )", cursor.text);
        this.#add(this.#close());
        break;
      case "|":
        this.#endChoice();
        break;
      case "^":
        this.#assert(flags.multiline ? "lineStart" : "textStart");
        break;
      case "$":
        this.#assert(flags.multiline ? "lineEnd" : "textEnd");
        break;
      case ".":
        this.#addSet(flags.dotAll ? ANY : NO_LINE_END);
        break;
      case "[":
        this.#addSet(readClass(cursor));
        break;
      case "*":
        this.#repeat(start, repeatedFrom, 0, Number.POSITIVE_INFINITY);
        break;
      case "+":
        this.#repeat(start, repeatedFrom, 1, Number.POSITIVE_INFINITY);
        break;
      case "?":
        this.#repeat(start, repeatedFrom, 0, 1);
        break;
      case "{":
        this.#readCount(start, repeatedFrom);
        break;
      case "\\":
        this.#readBackslash();
        break;
      default:
        this.#addSet(character(next.codePointAt(0) as number));
        break;
    }
  }

  get #group(): Group {
    return this.#groups[this.#groups.length - 1] as Group;
  }

  #open(flags: Flags): void {
    if (this.#groups.length > DEEPEST) throw new RegexError("expression nests too deeply", this.#cursor.text);
    this.#groups.push({ choices: [], parts: [], flagsOutside: this.#flags });
    this.#flags = flags;
  }

  #close(): RegexPart {
    this.#endChoice();
    const { choices, flagsOutside } = this.#groups.pop() as Group;
    this.#flags = flagsOutside;
    return this.#combined("choice", choices);
  }

  #endChoice(): void {
    this.#group.choices.push(this.#combined("sequence", this.#group.parts));
    this.#group.parts = [];
  }

  #combined(kind: "sequence" | "choice", parts: readonly RegexPart[]): RegexPart {
    if (parts.length === 1) return parts[0] as RegexPart;
    const part: RegexPart = { kind, parts };
    const repetitions = parts.reduce((most, each) => Math.max(most, this.#repetitions.get(each) ?? 1), 1);
    this.#repetitions.set(part, repetitions);
    return part;
  }

  #add(part: RegexPart): void {
    this.#group.parts.push(part);
  }

  #addSet(source: string): void {
    this.#add({ kind: "characters", set: characterSet(source, this.#flags.folds) });
  }

  #assert(assertion: Assertion): void {
    this.#add({ kind: "assertion", assertion });
  }

  #repeat(start: number, repeatedFrom: number, least: number, most: number): void {
    const cursor = this.#cursor;
    cursor.takeIf("?");
    const operator = cursor.text.slice(start, cursor.position);
    if (repeatedFrom >= 0) {
      throw new RegexError("bad repetition operator", cursor.text.slice(repeatedFrom, cursor.position));
    }
    if (Math.max(least, Number.isFinite(most) ? most : 0) > MOST_REPETITIONS || least > most) {
      throw new RegexError("invalid repetition size", operator);
    }
    const part = this.#group.parts.pop();
    if (!part) throw new RegexError("no argument for repetition operator", operator);
    const repeated: RegexPart = { kind: "repetition", part, least, most };
    const count = Math.max(1, Number.isFinite(most) ? most : least);
    const product = count * (this.#repetitions.get(part) ?? 1);
    if (count > 1 && product > MOST_REPETITIONS) throw new RegexError("invalid repetition size", operator);
    this.#repetitions.set(repeated, product);
    this.#add(repeated);
    this.#repeatedFrom = start;
  }

  #readCount(start: number, repeatedFrom: number): void {
    const found = this.#cursor.takeMatch(/(0|[1-9]\d*)(?:(,)(0|[1-9]\d*)?)?\}/y);
    if (!found) {
      this.#addSet(character(0x7b));
      return;
    }
    const least = Number(found[1]);
    const most = found[3] === undefined ? (found[2] ? Number.POSITIVE_INFINITY : least) : Number(found[3]);
    this.#repeat(start, repeatedFrom, least, most);
  }

  #readGroup(): void {
    const cursor = this.#cursor;
    const start = cursor.position - 1;
    const lookaround = cursor.takeMatch(/\?<?[=!]/y);
    if (lookaround) throw new RegexError("invalid perl operator", `(${lookaround[0]}`);
    if (cursor.takeMatch(/\?P?</y)) this.#readName(start);
    else if (cursor.takeIf("?")) this.#readFlags(start);
    else this.#open(this.#flags);
  }

  #readName(start: number): void {
    const cursor = this.#cursor;
    if (!cursor.takeMatch(/[\p{L}\p{M}\p{N}\p{Pc}]+>/uy)) {
      const rest = cursor.text.slice(start);
      throw new RegexError("invalid named capture group", rest.slice(0, rest.indexOf(">") + 1) || rest);
    }
    this.#open(this.#flags);
  }

  /** Flags as in `(?i)`, which hold up to the end of the group around them, or as in `(?i:`, for a group of their own. */
  #readFlags(start: number): void {
    const cursor = this.#cursor;
    const found = cursor.takeMatch(/([imsU]*)(?:(-)([imsU]+))?([:)])/y);
    if (!found) {
      cursor.takeMatch(/[imsU]*(-[imsU]*)?/y);
      if (!cursor.isAtEnd) cursor.next();
      throw new RegexError("invalid perl operator", cursor.text.slice(start, cursor.position));
    }
    const [, set = "", , cleared = "", end] = found;
    const value = (flag: string, before: boolean) =>
      (before || set.includes(flag)) && !cleared.includes(flag);
    const flags: Flags = {
      folds: value("i", this.#flags.folds),
      dotAll: value("s", this.#flags.dotAll),
      multiline: value("m", this.#flags.multiline),
    };
    if (end === ":") this.#open(flags);
    else this.#flags = flags;
  }

  #readBackslash(): void {
    const cursor = this.#cursor;
    const next = cursor.peek();
    const perlClass = PERL_CLASSES.get(next.toLowerCase());
    if (perlClass !== undefined) {
      cursor.next();
      this.#addSet(next === next.toLowerCase() ? `[${perlClass}]` : noneOf(perlClass));
      return;
    }
    switch (next) {
      case "A":
        cursor.next();
        this.#assert("textStart");
        break;
      case "z":
        cursor.next();
        this.#assert("textEnd");
        break;
      case "b":
        cursor.next();
        this.#assert("wordEdge");
        break;
      case "B":
        cursor.next();
        this.#assert("noWordEdge");
        break;
      case "C":
        throw new RegexError("\\C is a single byte, which a browser cannot see: use . instead");
      case "Q":
        cursor.next();
        this.#readQuoted();
        break;
      case "p":
      case "P":
        this.#addSet(readUnicodeClass(cursor));
        break;
      default:
        this.#addSet(character(readEscape(cursor)));
        break;
    }
  }

  #readQuoted(): void {
    const cursor = this.#cursor;
    while (!cursor.isAtEnd && !cursor.takeIf("\\E")) {
      this.#addSet(character(cursor.next().codePointAt(0) as number));
    }
  }
}
