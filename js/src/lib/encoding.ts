// Packs: gzip, and base64 in both directions; apart from packing.ts, for the first paint does without.

/** A text or file, gzipped. */
export async function gzipped(content: BlobPart): Promise<Blob> {
  return new Response(new Blob([content]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
}

/** Base64 by the browser itself, which does not block. */
export function base64(content: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^.*?,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(content);
  });
}

/** The bytes that base64 stands for. */
export function fromBase64(encoded: string): Uint8Array {
  return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
}
