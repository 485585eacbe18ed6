// What can be wrong with the options or the profile, said so that its reader can mend it.

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
