// Packs and unpacks: gzip, base64, and a module of a source text, in whichever way the page allows.

/** What was gzipped. */
export async function gunzipped(packed: Uint8Array | DataView): Promise<Uint8Array> {
  const bytes = new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength);
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The text that was gzipped. */
export async function gunzippedText(packed: Uint8Array | DataView): Promise<string> {
  return new TextDecoder().decode(await gunzipped(packed));
}

// Whether this page has refused modules from blobs: each try that it refuses is a complaint in its console.
let refusesBlobs = false;

/** The module of a source text. A page's policy may forbid one kind of address and allow the other. */
export async function importedText<Module>(source: string): Promise<Module> {
  let refused: unknown;
  if (!refusesBlobs) {
    const blob = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    try {
      return await import(/* @vite-ignore */ blob);
    } catch (error) {
      refused = error;
    } finally {
      URL.revokeObjectURL(blob);
    }
  }
  try {
    const module = await import(
      /* @vite-ignore */ `data:text/javascript;charset=utf-8,${encodeURIComponent(source)}`
    );
    refusesBlobs = true;
    return module;
  } catch (error) {
    throw new Error(
      `the policy of this page lets no script be loaded (${refused ?? error}); widget.save_report(path) writes one that does`,
    );
  }
}

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
  const characters = atob(encoded);
  const bytes = new Uint8Array(characters.length);
  // A loop: with a function for each character, megabytes of columns take a tenth of a second.
  for (let index = 0; index < bytes.length; index++) bytes[index] = characters.charCodeAt(index);
  return bytes;
}
