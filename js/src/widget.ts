// The entry of the widget: draws a model into an element of the page, and takes it away again.

import { render as draw, h } from "preact";
import { type ModelSource, sharedAssets } from "./data/assets.ts";
import type { Assets, Model } from "./data/model.ts";
import { type Lent, loadedPictures } from "./state/bundles.ts";
import { Bundle, once } from "./state/later.ts";
import { Store } from "./state/store.ts";
import { STYLE } from "./styles/index.ts";
import { followTheme } from "./theme.ts";
import { Frame } from "./views/frame.tsx";

/** What anywidget gives a view; `assets` is the opener's own way to hand them over, for there is no kernel. */
export interface Rendering {
  readonly model: Model;
  readonly el: HTMLElement;
  readonly host?: ModelSource;
  readonly assets?: () => Promise<Assets>;
}

/** Draw the widget into `el`; returns what takes it away. */
function render({ model, el, host, assets: given }: Rendering, lent: Lent): () => void {
  const place = el.ownerDocument.createElement("div");
  place.dataset.tfprofLive = String(model.get("_id") ?? "");
  el.append(place);
  // Lumino takes keys from what is focused inside unless the element it sees, which is this one, says so.
  place.dataset.lmSuppressShortcuts = "true";
  const root = place.attachShadow({ mode: "open" });
  const sheet = el.ownerDocument.createElement("style");
  sheet.textContent = STYLE;
  const content = el.ownerDocument.createElement("div");
  root.append(sheet, content);
  const assets = once(given ?? (() => sharedAssets(model, host)));
  const pictures = new Bundle(async () => loadedPictures(await assets(), lent));
  const store = new Store({ model, assets, pictures });
  const unfollow = followTheme(place);
  hideSavedCopy(el, String(model.get("_id") ?? ""));
  draw(h(Frame, { store }), content);
  return () => {
    draw(null, content);
    unfollow();
    store.dispose();
    place.remove();
  };
}

/** Put away what was saved for the time without a kernel; the opener does the same where the kernel was first. */
function hideSavedCopy(el: HTMLElement, id: string): void {
  if (!id) return;
  for (const saved of el.ownerDocument.querySelectorAll<HTMLElement>("[data-tfprof]")) {
    if (saved.dataset.tfprof === id) saved.hidden = true;
  }
}

/** The widget, which lends its own modules to the pictures: js/shared.mjs finds out which they need. */
export default (lent: Lent) => ({ render: (rendering: Rendering) => render(rendering, lent) });
