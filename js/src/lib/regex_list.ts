// A list of regexes in one line: separated by commas, except where a comma belongs to a regex, as in a{1,2} or [,;].

// What holds together: quoted text, an escaped character, a class with its classes, a repetition. What is not closed goes
// on to the end, so that no text is read more than once.
const WHOLE =
  /\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]?|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*(?:\]|\\?$)|\{[^{},\s]*,[^{},\s]*\}|[\s\S]/g;

/** The regexes of a line; spaces around them do not belong to them. */
export function splitRegexes(line: string): readonly string[] {
  return parts(line)
    .map((part) => part.replace(/^\s+|(?<!\\)\s+$/g, ""))
    .filter((part) => part !== "");
}

/**
 * The line of some regexes, which splits into the same ones again. What would fall apart is written otherwise and means
 * the same: a bare comma as [,], a space at an end as [ ], and the regex of the empty name as ().
 */
export function joinRegexes(regexes: readonly string[]): string {
  return regexes.map(written).join(", ");
}

function written(regex: string): string {
  const kept = parts(regex).join("[,]");
  return kept === "" ? "()" : kept.replace(/^\s|(?<!\\)\s$/g, (space) => `[${space}]`);
}

/** The line, cut at the commas that stand alone. */
function parts(line: string): readonly string[] {
  const found = [""];
  let open = 0;
  for (const [whole] of line.matchAll(WHOLE)) {
    if (whole === "(") open++;
    if (whole === ")" && open > 0) open--;
    if (whole === "," && open === 0) found.push("");
    else found[found.length - 1] += whole;
  }
  return found;
}
