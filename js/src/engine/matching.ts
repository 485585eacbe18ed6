// Which names match tfprof's regexes: RE2's syntax, full matches, and time linear in the names.

import { OptionError } from "../data/options.ts";
import type { Flags } from "./columns.ts";
import { Regex, RegexError } from "./regex.ts";

const KEPT_MASKS = 64;

/** Whether an option has its word for "all", names with line ends included. */
export function isEverything(regexes: readonly string[]): boolean {
  return regexes.length === 1 && regexes[0] === ".*";
}

/** Names to match regexes against; the answer for each regex is kept. */
export class Names {
  private readonly masks = new Map<string, Flags>();

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
    const known = this.masks.get(regex);
    if (known) return known;
    const pattern = compiled(option, regex);
    const mask = new Uint8Array(this.names.length);
    for (let i = 0; i < mask.length; i++) mask[i] = pattern.matches(this.names[i] as string) ? 1 : 0;
    this.masks.set(regex, mask);
    for (const oldest of this.masks.keys()) {
      if (this.masks.size <= KEPT_MASKS) break;
      this.masks.delete(oldest); // someone is typing
    }
    return mask;
  }
}

/** The regex as RE2 understands it, or an OptionError with RE2's reason. */
export function compiled(option: string, regex: string): Regex {
  try {
    return new Regex(regex);
  } catch (error) {
    if (!(error instanceof RegexError)) throw error;
    throw new OptionError(option, `RE2 refuses ${JSON.stringify(regex)}: ${error.message}`);
  }
}
