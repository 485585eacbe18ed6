// Compiles and runs an RE2 regex: a program of states, run over the text once, in linear time.

import { OptionError } from "../data/options.ts";
import type { Pattern } from "./matching.ts";
import { type CharacterSet, RegexError } from "./regex_classes.ts";
import { type Assertion, parsed, type RegexPart } from "./regex_syntax.ts";

/** A regex that RE2 takes; a RegexError says why it does not. */
export class Regex implements Pattern {
  readonly #automaton: Automaton;

  constructor(regex: string) {
    this.#automaton = new Automaton(new Program(parsed(regex)));
  }

  /** Whether the regex matches the whole name. */
  matches(name: string): boolean {
    return this.#automaton.matches(name);
  }
}

/** The regex as RE2 understands it, or an OptionError with RE2's reason. */
export function compiled(option: string, regex: string): Pattern {
  try {
    return new Regex(regex);
  } catch (error) {
    if (!(error instanceof RegexError)) throw error;
    throw new OptionError(option, `RE2 refuses ${JSON.stringify(regex)}: ${error.message}`);
  }
}

/** A step of a program: take a character of a set, go on where an assertion holds or in two ways, or be done. */
type Instruction =
  | { readonly kind: "take"; readonly set: number; readonly next: number }
  | { readonly kind: "assert"; readonly assertion: Assertion; readonly next: number }
  | { readonly kind: "split"; next: number; other: number }
  | { readonly kind: "match" };

const MOST_INSTRUCTIONS = 100_000;

/** The instructions of a regex, where they start, and the distinct sets of characters that they name. */
class Program {
  readonly instructions: Instruction[] = [{ kind: "match" }];
  readonly sets: CharacterSet[] = [];
  readonly start: number;
  readonly #setOf = new Map<string, number>();

  constructor(part: RegexPart) {
    this.start = this.#write(part, 0);
  }

  /** Whether it looks at what is beside a position. */
  get asserts(): boolean {
    return this.instructions.some(({ kind }) => kind === "assert");
  }

  /** Write what matches a part and then goes on at `next`; returns where that starts. */
  #write(part: RegexPart, next: number): number {
    switch (part.kind) {
      case "characters":
        return this.#add({ kind: "take", set: this.#number(part.set), next });
      case "assertion":
        return this.#add({ kind: "assert", assertion: part.assertion, next });
      case "sequence":
        return part.parts.reduceRight((after, each) => this.#write(each, after), next);
      case "choice":
        return part.parts
          .map((each) => this.#write(each, next))
          .reduceRight((other, each) => this.#add({ kind: "split", next: each, other }));
      case "repetition":
        return this.#writeRepetition(part.part, part.least, part.most, next);
    }
  }

  #writeRepetition(part: RegexPart, least: number, most: number, next: number): number {
    let start = next;
    if (most === Number.POSITIVE_INFINITY) {
      const split: Instruction = { kind: "split", next, other: next };
      start = this.#add(split);
      split.other = this.#write(part, start);
    } else {
      for (let count = least; count < most; count++) {
        start = this.#add({ kind: "split", next, other: this.#write(part, start) });
      }
    }
    for (let count = 0; count < least; count++) start = this.#write(part, start);
    return start;
  }

  #add(instruction: Instruction): number {
    if (this.instructions.length >= MOST_INSTRUCTIONS) throw new RegexError("pattern too large");
    return this.instructions.push(instruction) - 1;
  }

  #number(set: CharacterSet): number {
    const known = this.#setOf.get(set.key);
    if (known !== undefined) return known;
    this.#setOf.set(set.key, this.sets.length);
    return this.sets.push(set) - 1;
  }
}

/** What is on a side of a position, as far as assertions care. */
const NOTHING = 0;
const LINE_END = 1;
const WORD = 2;
const OTHER = 3;

const UNKNOWN = -1;
// The state from which nothing matches.
const DEAD = 0;
const ASCII = 128;
const FIRST_WIDTH = 16;
const MOST_STATES = 4096;

/** Where a program may be after some characters: its positions, and what was before them. */
interface State {
  readonly positions: readonly number[];
  readonly before: number;
  accepts: boolean | undefined;
}

/** A program with the states it has been in; characters that no instruction tells apart are of one sort. */
class Automaton {
  readonly #asserts: boolean;
  readonly #asciiSorts = new Int32Array(ASCII);
  readonly #sorts = new Map<number, number>();
  readonly #sortOf = new Map<string, number>();
  /** Of each sort which sets have it, and what it is to assertions. */
  readonly #members: Uint8Array[] = [];
  readonly #sides: number[] = [];
  #states: State[] = [];
  #known = new Map<string, number>();
  #width = FIRST_WIDTH;
  #next = new Int32Array(0);
  #start = UNKNOWN;

  constructor(private readonly program: Program) {
    this.#asserts = program.asserts;
    for (let code = 0; code < ASCII; code++) this.#asciiSorts[code] = this.#sort(code);
    this.#forget();
  }

  /** Whether the whole name matches. */
  matches(name: string): boolean {
    if (this.#start === UNKNOWN) this.#start = this.#number([this.program.start], NOTHING);
    let state = this.#start;
    for (let i = 0; i < name.length; i++) {
      let code = name.charCodeAt(i);
      let sort: number;
      if (code < ASCII) {
        sort = this.#asciiSorts[code] as number;
      } else {
        code = name.codePointAt(i) as number;
        if (code > 0xffff) i++;
        sort = this.#sort(code);
      }
      const found = this.#next[state * this.#width + sort] as number;
      state = found === UNKNOWN ? this.#step(state, sort) : found;
      if (state === DEAD) return false;
    }
    return this.#accepts(this.#states[state] as State);
  }

  #accepts(state: State): boolean {
    state.accepts ??= this.#reached(state, NOTHING).includes(0);
    return state.accepts;
  }

  #step(from: number, sort: number): number {
    const state = this.#states[from] as State;
    const side = this.#sides[sort] as number;
    const members = this.#members[sort] as Uint8Array;
    const positions = new Set<number>();
    for (const position of this.#reached(state, side)) {
      const instruction = this.program.instructions[position];
      if (instruction?.kind === "take" && members[instruction.set]) positions.add(instruction.next);
    }
    if (this.#states.length >= MOST_STATES) {
      this.#forget();
      return this.#number([...positions], side);
    }
    const found = this.#number([...positions], side);
    this.#next[from * this.#width + sort] = found;
    return found;
  }

  /** All positions to which a state leads without a character, given what comes after. */
  #reached(state: State, after: number): number[] {
    const { instructions } = this.program;
    const met = new Set(state.positions);
    for (const position of met) {
      const instruction = instructions[position];
      if (instruction?.kind === "split") met.add(instruction.next).add(instruction.other);
      else if (instruction?.kind === "assert" && holds(instruction.assertion, state.before, after)) {
        met.add(instruction.next);
      }
    }
    return [...met];
  }

  #number(positions: readonly number[], before: number): number {
    if (positions.length === 0) return DEAD;
    const side = this.#asserts ? before : OTHER;
    const sorted = positions.toSorted((one, other) => one - other);
    const key = `${side} ${sorted.join()}`;
    const found = this.#known.get(key);
    if (found !== undefined) return found;
    const index = this.#states.push({ positions: sorted, before: side, accepts: undefined }) - 1;
    this.#known.set(key, index);
    if (this.#states.length * this.#width > this.#next.length) this.#grow();
    return index;
  }

  #grow(): void {
    const grown = new Int32Array(Math.max(16 * this.#width, 2 * this.#next.length)).fill(UNKNOWN);
    grown.set(this.#next);
    this.#next = grown;
  }

  #forget(): void {
    this.#states = [{ positions: [], before: OTHER, accepts: false }];
    this.#known = new Map();
    this.#next = new Int32Array(0);
    this.#start = UNKNOWN;
    this.#grow();
  }

  #sort(code: number): number {
    const known = this.#sorts.get(code);
    if (known !== undefined) return known;
    const members = Uint8Array.from(this.program.sets, (set) => (set.has(code) ? 1 : 0));
    const side = this.#asserts ? sideOf(code) : OTHER;
    const key = `${side} ${members.join("")}`;
    let sort = this.#sortOf.get(key);
    if (sort === undefined) {
      sort = this.#members.push(members) - 1;
      this.#sides.push(side);
      this.#sortOf.set(key, sort);
      if (sort >= this.#width) this.#widen();
    }
    this.#sorts.set(code, sort);
    return sort;
  }

  #widen(): void {
    const [next, width] = [this.#next, this.#width];
    this.#width = 2 * width;
    this.#next = new Int32Array(2 * next.length).fill(UNKNOWN);
    for (let state = 0; state * width < next.length; state++) {
      this.#next.set(next.subarray(state * width, (state + 1) * width), state * this.#width);
    }
  }
}

function sideOf(code: number): number {
  if (code === 0x0a) return LINE_END;
  return code < ASCII && /\w/.test(String.fromCharCode(code)) ? WORD : OTHER;
}

function holds(assertion: Assertion, before: number, after: number): boolean {
  switch (assertion) {
    case "textStart":
      return before === NOTHING;
    case "textEnd":
      return after === NOTHING;
    case "lineStart":
      return before <= LINE_END;
    case "lineEnd":
      return after <= LINE_END;
    case "wordEdge":
      return (before === WORD) !== (after === WORD);
    case "noWordEdge":
      return (before === WORD) === (after === WORD);
  }
}
