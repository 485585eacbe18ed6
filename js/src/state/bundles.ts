// Unpacks what draws pictures, imports it, and lends it the modules that it shares with the widget.

import type { Assets, Pictures } from "../data/model.ts";

/** What the names that the bundle imports of the widget's modules stand for, in the order that js/shared.mjs gives them. */
export type Lent = readonly unknown[];

/** The bundle as js/build.mjs wraps it. */
interface Bundle {
  readonly default: (lent: Lent) => Pictures;
}

/** The pictures, drawn with this widget's own engine, state and Preact. */
export async function loadedPictures({ pictures }: Assets, lent: Lent): Promise<Pictures> {
  const { default: pictured } = await imported(await unpacked(pictures));
  return pictured(lent);
}

async function unpacked(packed: Uint8Array | DataView): Promise<string> {
  const bytes = new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength);
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text().catch(() => {
    throw new Error("what draws it is damaged or incomplete; run the cell or write the page again");
  });
}

async function imported(source: string): Promise<Bundle> {
  const blob = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    return await import(/* @vite-ignore */ blob);
  } catch (refused) {
    // A page's policy may forbid the one and allow the other.
    return import(
      /* @vite-ignore */ `data:text/javascript;charset=utf-8,${encodeURIComponent(source)}`
    ).catch(() => {
      throw new Error(
        `this page does not let scripts be loaded (${refused}); widget.save_report(path) writes one that does`,
      );
    });
  } finally {
    URL.revokeObjectURL(blob);
  }
}
