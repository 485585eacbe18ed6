// Where a live widget gets the assets from: the hidden widget that all widgets of a kernel share, or the kernel itself.

import type { Assets, Listener, Model } from "./model.ts";

// A kernel answers when the cell that it runs is done; the wait begins anew with each time that somebody looks.
const PATIENCE_MILLISECONDS = 10_000;

/** What anywidget 0.11 and later give a view to find other models with. */
export interface ModelSource {
  getModel(reference: string): Promise<Model>;
}

/** What Python answers who asks for the assets; the bundle is the bytes beside it. */
interface Told extends Omit<Assets, "pictures"> {
  readonly told: "pictures";
}

/** The assets out of the shared widget; the kernel is asked where that cannot be reached. */
export async function sharedAssets(model: Model, source: ModelSource | undefined): Promise<Assets> {
  const shared = await source?.getModel(String(model.get("_assets"))).catch(() => undefined);
  if (!shared) return askedAssets(model);
  return {
    pictures: shared.get("pictures") as Uint8Array,
    charts: shared.get("charts") as Assets["charts"],
    page: shared.get("page") as string,
  };
}

function askedAssets(model: Model): Promise<Assets> {
  return new Promise((resolve, reject) => {
    const hear: Listener = (message, buffers) => {
      const { told, charts, page } = message as Told;
      const pictures = buffers?.[0];
      if (told !== "pictures" || !pictures) return;
      leave();
      resolve({ pictures, charts, page });
    };
    const giveUp = (): void => {
      leave();
      reject(
        new Error("the kernel does not answer; when it is idle, choose another tab, or run the cell again"),
      );
    };
    const patience = setTimeout(giveUp, PATIENCE_MILLISECONDS);
    const leave = (): void => {
      clearTimeout(patience);
      model.off("msg:custom", hear);
    };
    model.on("msg:custom", hear);
    model.send?.({ ask: "pictures" });
  });
}
