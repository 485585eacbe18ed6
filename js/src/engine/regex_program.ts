// A regex as a program: positions in it, each of which takes a character or goes on without one.

import { RegexError } from "./regex_classes.ts";
import type { CharacterSet } from "./regex_sets.ts";
import type { Assertion, RegexPart } from "./regex_syntax.ts";

/** A step of a program: take a character of a set, go on where an assertion holds or in two ways, or be done. */
export type Instruction =
  | { readonly kind: "take"; readonly set: number; readonly next: number }
  | { readonly kind: "assert"; readonly assertion: Assertion; readonly next: number }
  | { readonly kind: "split"; next: number; other: number }
  | { readonly kind: "match" };

const MOST_INSTRUCTIONS = 100_000;

/** The instructions of a regex, where they start, and the distinct sets of characters that they name. */
export class Program {
  readonly instructions: Instruction[] = [{ kind: "match" }];
  readonly sets: CharacterSet[] = [];
  readonly start: number;
  private readonly setOf = new Map<string, number>();

  constructor(part: RegexPart) {
    this.start = this.write(part, 0);
  }

  /** Whether it looks at what is beside a position. */
  get asserts(): boolean {
    return this.instructions.some(({ kind }) => kind === "assert");
  }

  /** Write what matches a part and then goes on at `next`; returns where that starts. */
  private write(part: RegexPart, next: number): number {
    switch (part.kind) {
      case "characters":
        return this.add({ kind: "take", set: this.number(part.set), next });
      case "assertion":
        return this.add({ kind: "assert", assertion: part.assertion, next });
      case "sequence":
        return part.parts.reduceRight((after, each) => this.write(each, after), next);
      case "choice":
        return part.parts
          .map((each) => this.write(each, next))
          .reduceRight((other, each) => this.add({ kind: "split", next: each, other }));
      case "repetition":
        return this.writeRepetition(part.part, part.least, part.most, next);
    }
  }

  private writeRepetition(part: RegexPart, least: number, most: number, next: number): number {
    let start = next;
    if (most === Number.POSITIVE_INFINITY) {
      const split: Instruction = { kind: "split", next, other: next };
      start = this.add(split);
      split.other = this.write(part, start);
    } else {
      for (let count = least; count < most; count++) {
        start = this.add({ kind: "split", next, other: this.write(part, start) });
      }
    }
    for (let count = 0; count < least; count++) start = this.write(part, start);
    return start;
  }

  private add(instruction: Instruction): number {
    if (this.instructions.length >= MOST_INSTRUCTIONS) throw new RegexError("pattern too large");
    return this.instructions.push(instruction) - 1;
  }

  private number(set: CharacterSet): number {
    const known = this.setOf.get(set.key);
    if (known !== undefined) return known;
    this.setOf.set(set.key, this.sets.length);
    return this.sets.push(set) - 1;
  }
}
