// Runs a program over whole names in time linear in their length: all its ways at once, each state met kept.

import type { Program } from "./regex_program.ts";
import type { Assertion } from "./regex_syntax.ts";

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
export class Automaton {
  private readonly asserts: boolean;
  private readonly asciiSorts = new Int32Array(ASCII);
  private readonly sorts = new Map<number, number>();
  private readonly sortOf = new Map<string, number>();
  /** Of each sort which sets have it, and what it is to assertions. */
  private readonly members: Uint8Array[] = [];
  private readonly sides: number[] = [];
  private states: State[] = [];
  private known = new Map<string, number>();
  private width = FIRST_WIDTH;
  private next = new Int32Array(0);
  private start = UNKNOWN;

  constructor(private readonly program: Program) {
    this.asserts = program.asserts;
    for (let code = 0; code < ASCII; code++) this.asciiSorts[code] = this.sort(code);
    this.forget();
  }

  /** Whether the whole name matches. */
  matches(name: string): boolean {
    if (this.start === UNKNOWN) this.start = this.number([this.program.start], NOTHING);
    let state = this.start;
    for (let i = 0; i < name.length; i++) {
      let code = name.charCodeAt(i);
      let sort: number;
      if (code < ASCII) {
        sort = this.asciiSorts[code] as number;
      } else {
        code = name.codePointAt(i) as number;
        if (code > 0xffff) i++;
        sort = this.sort(code);
      }
      const found = this.next[state * this.width + sort] as number;
      state = found === UNKNOWN ? this.step(state, sort) : found;
      if (state === DEAD) return false;
    }
    return this.accepts(this.states[state] as State);
  }

  private accepts(state: State): boolean {
    state.accepts ??= this.reached(state, NOTHING).includes(0);
    return state.accepts;
  }

  private step(from: number, sort: number): number {
    const state = this.states[from] as State;
    const side = this.sides[sort] as number;
    const members = this.members[sort] as Uint8Array;
    const positions = new Set<number>();
    for (const position of this.reached(state, side)) {
      const instruction = this.program.instructions[position];
      if (instruction?.kind === "take" && members[instruction.set]) positions.add(instruction.next);
    }
    if (this.states.length >= MOST_STATES) {
      this.forget();
      return this.number([...positions], side);
    }
    const found = this.number([...positions], side);
    this.next[from * this.width + sort] = found;
    return found;
  }

  /** All positions to which a state leads without a character, given what comes after. */
  private reached(state: State, after: number): number[] {
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

  private number(positions: readonly number[], before: number): number {
    if (positions.length === 0) return DEAD;
    const side = this.asserts ? before : OTHER;
    const sorted = positions.toSorted((one, other) => one - other);
    const key = `${side} ${sorted.join()}`;
    const found = this.known.get(key);
    if (found !== undefined) return found;
    const index = this.states.push({ positions: sorted, before: side, accepts: undefined }) - 1;
    this.known.set(key, index);
    if (this.states.length * this.width > this.next.length) this.grow();
    return index;
  }

  private grow(): void {
    const grown = new Int32Array(Math.max(16 * this.width, 2 * this.next.length)).fill(UNKNOWN);
    grown.set(this.next);
    this.next = grown;
  }

  private forget(): void {
    this.states = [{ positions: [], before: OTHER, accepts: false }];
    this.known = new Map();
    this.next = new Int32Array(0);
    this.start = UNKNOWN;
    this.grow();
  }

  private sort(code: number): number {
    const known = this.sorts.get(code);
    if (known !== undefined) return known;
    const members = Uint8Array.from(this.program.sets, (set) => (set.has(code) ? 1 : 0));
    const side = this.asserts ? sideOf(code) : OTHER;
    const key = `${side} ${members.join("")}`;
    let sort = this.sortOf.get(key);
    if (sort === undefined) {
      sort = this.members.push(members) - 1;
      this.sides.push(side);
      this.sortOf.set(key, sort);
      if (sort >= this.width) this.widen();
    }
    this.sorts.set(code, sort);
    return sort;
  }

  private widen(): void {
    const { next, width } = this;
    this.width = 2 * width;
    this.next = new Int32Array(2 * next.length).fill(UNKNOWN);
    for (let state = 0; state * width < next.length; state++) {
      this.next.set(next.subarray(state * width, (state + 1) * width), state * this.width);
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
