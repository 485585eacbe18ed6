// Which names match tfprof's regexes: RE2's syntax, full matches, and time linear in the names.

import type { Flags } from "./columns.ts";

/** A regex that is ready to be asked. */
export interface Pattern {
  /** Whether the regex matches the whole name. */
  matches(name: string): boolean;
}

/** Makes the pattern of a regex; `option` is named where RE2 refuses it. */
export type Compile = (option: string, regex: string) => Pattern;

/** What was asked for needs code that comes after the first paint, and has not come yet. */
export class NotLoaded extends Error {
  override readonly name = "NotLoaded";
}

const KEPT_MASKS = 64;
// A regex without operators, as the first paint needs for the kinds of runs, is a name; punctuation may be escaped.
const PLAIN = /^(?:[\w !"#%&',/:;<=>@`~-]|\\[!-/:-@[-`{-~])*$/;
const ESCAPE = /\\(.)/g;

let compile: Compile = () => {
  throw new NotLoaded("regexes are not loaded yet");
};

/** Compile all other regexes so. */
export function compileWith(later: Compile): void {
  compile = later;
}

/** Whether an option has its word for "all", names with line ends included. */
export function isEverything(regexes: readonly string[]): boolean {
  return regexes.length === 1 && regexes[0] === ".*";
}

/** Names to match regexes against; the answer for each regex is kept. */
export class Names {
  readonly #masks = new Map<string, Flags>();

  constructor(private readonly names: readonly string[]) {}

  /** Whether each name matches one of the regexes in full; `option` is named when one is refused. */
  matching(option: string, regexes: readonly string[]): Flags {
    const found = new Uint8Array(this.names.length);
    if (isEverything(regexes)) return found.fill(1);
    for (const regex of regexes) {
      const mask = this.matchingOne(option, regex);
      for (let i = 0; i < found.length; i++) found[i] = (found[i] as number) | (mask[i] as number);
    }
    return found;
  }

  /** Whether each name matches the regex in full. */
  matchingOne(option: string, regex: string): Flags {
    const known = this.#masks.get(regex);
    if (known) return known;
    const pattern = PLAIN.test(regex) ? plain(regex) : compile(option, regex);
    const mask = new Uint8Array(this.names.length);
    for (let i = 0; i < mask.length; i++) mask[i] = pattern.matches(this.names[i] as string) ? 1 : 0;
    this.#masks.set(regex, mask);
    for (const oldest of this.#masks.keys()) {
      if (this.#masks.size <= KEPT_MASKS) break;
      this.#masks.delete(oldest); // someone is typing
    }
    return mask;
  }
}

function plain(regex: string): Pattern {
  const wanted = regex.replace(ESCAPE, "$1");
  return { matches: (name) => name === wanted };
}
