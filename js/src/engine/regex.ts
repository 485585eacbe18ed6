// A regex in RE2's syntax, which matches names in full and never takes more than linear time.

import { Automaton } from "./regex_automaton.ts";
import { RegexError } from "./regex_classes.ts";
import { Program } from "./regex_program.ts";
import { parsed } from "./regex_syntax.ts";

export { RegexError };

/** A regex that RE2 takes; a RegexError says why it does not. */
export class Regex {
  private readonly automaton: Automaton;

  constructor(regex: string) {
    this.automaton = new Automaton(new Program(parsed(regex)));
  }

  /** Whether the regex matches the whole name. */
  matches(name: string): boolean {
    return this.automaton.matches(name);
  }
}
