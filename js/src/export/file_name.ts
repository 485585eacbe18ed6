// Names of the files that are written: from a title that may come from anywhere, and never a path.

const LONGEST = 80;
const FALLBACK = "tfprof";
// What some system takes for a part of a path or for a command, and what is not seen or turns the text around.
const UNFIT = /[\p{C}\p{Zl}\p{Zp}<>:"/\\|?*]+/gu;
// Names of devices on Windows, whatever their extension.
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/** A file name out of a title, what the file shows, and what kind of file it is. */
export function fileName(title: string, shown: string, extension: string): string {
  const ending = `${shown ? `-${cleaned(shown)}` : ""}.${extension}`;
  const start = cleaned(title).replace(DEVICE, "_$1") || FALLBACK;
  return cut(start, LONGEST - ending.length).trimEnd() + ending;
}

function cleaned(text: string): string {
  return text
    .replace(UNFIT, " ")
    .replace(/\s+/g, " ")
    .replace(/^[. ~-]+|[. ]+$/g, "");
}

/** The first characters, none of them in half. */
function cut(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
}
