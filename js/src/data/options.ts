// Checks options as tfprof_widget/profiles/options.py does, and has a value for each that is not given.

import { OPTIONS, type OptionDescription, type Options } from "./protocol.ts";

/** An option has a value that does not do; the front end keeps the last good result. */
export class OptionError extends Error {
  override readonly name = "OptionError";

  /** `option` is the option's name as users write it. */
  constructor(
    readonly option: string,
    readonly reason: string,
  ) {
    super(`${option}: ${reason}`);
  }
}

/** The profile cannot answer: it lacks what the view needs, or its numbers are too large to be exact. */
export class ProfileError extends Error {
  override readonly name = "ProfileError";
}

/** The given values, and the defaults of the others. */
export function withDefaults(given: Partial<Options> = {}): Options {
  const defaults = Object.fromEntries(OPTIONS.map((option) => [option.key, option.default]));
  return { ...defaults, ...given } as unknown as Options;
}

/** Whether two values of an option, or two sets of options, are the same. */
export function sameValue(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Say what is wrong with the first option that has no value of its kind. */
export function checkOptions(options: Options): void {
  for (const option of OPTIONS) {
    const reason = complaint(option, options[option.key]);
    if (reason) throw new OptionError(option.name, reason);
  }
}

function complaint(option: OptionDescription, value: unknown): string | undefined {
  switch (option.kind) {
    case "integer":
      return ofInteger(option, value);
    case "flag":
      return typeof value === "boolean" ? undefined : `${shown(value)} is not true or false`;
    case "choice":
      return ofChoice(option, value);
    case "choices":
      return ofTexts(value) ?? (value as string[]).map((each) => ofChoice(option, each)).find(Boolean);
    case "regexes":
      return ofTexts(value);
    case "text":
      return typeof value === "string" ? undefined : `${shown(value)} is not a text`;
  }
}

function ofInteger(option: OptionDescription, value: unknown): string | undefined {
  if (!Number.isSafeInteger(value)) return `${shown(value)} is not a whole number below 2**53`;
  const { minimum = 0 } = option;
  return (value as number) < minimum ? `${shown(value)} is less than ${minimum}` : undefined;
}

function ofChoice(option: OptionDescription, value: unknown): string | undefined {
  const choices = option.choices ?? [];
  return choices.includes(value as string)
    ? undefined
    : `there is no ${shown(value)}; choose from ${choices.join(", ")}`;
}

function ofTexts(value: unknown): string | undefined {
  const isList = Array.isArray(value) && value.every((each) => typeof each === "string");
  return isList ? undefined : `${shown(value)} is not a list of texts`;
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
