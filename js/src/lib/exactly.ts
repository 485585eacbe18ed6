// Names as regexes.

/** A regex that matches this name alone, in RE2 as in RegExp, as Python's `re.escape` writes it. */
export function asRegex(name: string): string {
  return name.replace(/[()[\]{}?*+\-|^$\\.&~# \t\n\r\v\f]/g, "\\$&");
}
