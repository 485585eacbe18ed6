// Vega, unpacked and imported when a chart is first drawn, once for all widgets that share its bytes.

import type { Assets, Host } from "../../host.ts";

/** The exports of js/src/vega.ts. */
export type Vega = typeof import("../../vega.ts");

/** What a chart needs in order to be drawn. */
export interface Drawing {
  readonly vega: Vega;
  readonly charts: Assets["charts"];
}

const ofHosts = new WeakMap<Host, Promise<Drawing>>();
const ofBytes = new WeakMap<object, Promise<Vega>>();

/** Vega and the charts of a host; a failure is not remembered, so that the next chart tries again. */
export function loadedDrawing(host: Host): Promise<Drawing> {
  const loading = ofHosts.get(host) ?? load(host);
  ofHosts.set(host, loading);
  loading.catch(() => ofHosts.delete(host));
  return loading;
}

async function load(host: Host): Promise<Drawing> {
  const { vega, charts } = await host.assets();
  const importing = ofBytes.get(vega) ?? unpacked(vega).then(imported);
  ofBytes.set(vega, importing);
  importing.catch(() => ofBytes.delete(vega));
  return { vega: await importing, charts };
}

async function unpacked(packed: Uint8Array | DataView): Promise<string> {
  const bytes = new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength);
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function imported(source: string): Promise<Vega> {
  const blob = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    return await import(/* @vite-ignore */ blob);
  } catch (refused) {
    // A page's policy may forbid the one and allow the other.
    return import(
      /* @vite-ignore */ `data:text/javascript;charset=utf-8,${encodeURIComponent(source)}`
    ).catch(() => {
      throw new Error(`this page does not let Vega be loaded: ${messageOf(refused)}`);
    });
  } finally {
    URL.revokeObjectURL(blob);
  }
}

/** What an error says of itself. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
