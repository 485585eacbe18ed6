// Hands a file to the reader, without a server.

// Long enough for a browser to have taken the file over.
const REVOKED_AFTER_MILLISECONDS = 60_000;

/** Collect what is written part by part, and let the page breathe in between; `told` hears how many there were. */
export async function collected(
  parts: Iterable<string>,
  type: string,
  told?: (count: number) => void,
): Promise<Blob> {
  const written: Blob[] = [];
  for (const part of parts) {
    // The browser may keep blobs on disk, and strings only in memory.
    written.push(new Blob([part]));
    told?.(written.length);
    await new Promise((resume) => setTimeout(resume));
  }
  return new Blob(written, { type });
}

/** Save a file under a name. */
export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKED_AFTER_MILLISECONDS);
}
