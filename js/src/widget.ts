// The entry of the widget: draws a model into an element, follows the theme of the page, and takes the widget away again.

import { render as draw, h } from "preact";
import { listeningTo, type Rendering, sharedAssets } from "./data/model.ts";
import { Bundle, type ChartLibrary, type Lent, moduleOf, once } from "./state/bundles.ts";
import { type Carried, type Panels, Store } from "./state/store.ts";
import base from "./styles/base.css";
import { Frame } from "./views/frame.tsx";

/** Panels as js/shared.mjs wraps them. */
interface PanelsModule<Exported> {
  readonly default: (lent: Lent) => Exported;
}

// One of each for all widgets of the page.
const panels = new Bundle<Panels>();
const carried = new Bundle<Carried>();
const charts = new Bundle<ChartLibrary>();

/** Draw the widget into `el`; returns what takes it away. */
function render({ model, el, host, assets: given }: Rendering, lent: Lent): () => void {
  const place = el.ownerDocument.createElement("div");
  place.dataset.tfprofLive = String(model.get("_id") ?? "");
  el.append(place);
  // Lumino takes keys from what is focused inside unless the element it sees, which is this one, says so.
  place.dataset.lmSuppressShortcuts = "true";
  const root = place.attachShadow({ mode: "open" });
  const sheet = el.ownerDocument.createElement("style");
  sheet.textContent = base;
  const content = el.ownerDocument.createElement("div");
  root.append(sheet, content);
  const assets = once(given ?? (() => sharedAssets(model, host)));
  /** What one result of a notebook carries for all. */
  const carriedCode = (name: "carried" | "charts") => async () => {
    const packed = (await assets())[name];
    if (packed) return packed;
    throw new Error("its code is in another result of this notebook; run the cell again to see it");
  };
  const store = new Store({
    model: model.get("_kind") ? listeningTo(model) : model,
    assets,
    source: host,
    panels: panels.from(
      async () => (await assets()).panels,
      async (packed) => (await moduleOf<PanelsModule<Panels>>(packed)).default(lent),
    ),
    carried: carried.from(carriedCode("carried"), async (packed) => {
      const { code } = store.host.panels.arrived.peek();
      if (!code) throw new Error("the panels that it uses have not come yet; try again");
      const module = await moduleOf<PanelsModule<{ readonly carried: Carried }>>(packed);
      return module.default([...lent, ...code.lent]).carried;
    }),
    charts: charts.from(carriedCode("charts"), moduleOf<ChartLibrary>),
  });
  // Jupyter marks the views whose kernel is gone.
  const hear = (): void => {
    store.isHeard.value = !el.closest(".jupyter-widgets-disconnected");
  };
  model.on("comm_live_update", hear);
  // Slides would take keys for their own that nothing in here has a use for.
  place.addEventListener("keydown", (event) => {
    if (/^(Arrow|Page|Home|End|.$)/.test(event.key) && !event.ctrlKey && !event.metaKey)
      event.stopPropagation();
  });
  const unfollow = followTheme(place);
  const id = String(model.get("_id") ?? "");
  hideSavedCopy(el, id);
  // What stays of a view that is told is told anew now and then.
  const hiding = el.ownerDocument.createElement("style");
  if (model.get("_kind")) hiding.textContent = `[data-tfprof="${id}"]{display:none}`;
  place.append(hiding);
  // While the frame is drawn the panels are unpacked, which another thread does.
  store.host.panels.ask();
  draw(h(Frame, { store }), content);
  return () => {
    draw(null, content);
    unfollow();
    model.off("comm_live_update", hear);
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

/** Keep `data-theme` of the element at light or dark; returns what ends this. */
export function followTheme(element: HTMLElement): () => void {
  const view = element.ownerDocument.defaultView;
  const preference = view?.matchMedia("(prefers-color-scheme: dark)");
  const update = (): void => {
    element.dataset.theme = isDark(element) ? "dark" : "light";
  };
  // Notebooks switch themes by a class or attribute of the root or the body, and load the styles a little later.
  const observer = new MutationObserver(() => {
    update();
    view?.setTimeout(update, 200);
  });
  for (const watched of [element.ownerDocument.documentElement, element.ownerDocument.body]) {
    observer.observe(watched, { attributes: true });
  }
  preference?.addEventListener("change", update);
  // Notebooks put a widget into the page after it was drawn, and only then there is something behind it.
  const arrival = new ResizeObserver(update);
  arrival.observe(element);
  update();
  return () => {
    observer.disconnect();
    arrival.disconnect();
    preference?.removeEventListener("change", update);
  };
}

/** Whether the colour behind an element is dark; where there is none, what the reader prefers. */
function isDark(element: HTMLElement): boolean {
  const view = element.ownerDocument.defaultView;
  if (!view) return false;
  for (let above: Element | null = element; above; above = parentOf(above)) {
    const { red, green, blue, opacity } = drawn(
      element.ownerDocument,
      view.getComputedStyle(above).backgroundColor,
    );
    if (opacity > 128) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  const scheme = view.getComputedStyle(element.ownerDocument.documentElement).colorScheme;
  return scheme.includes("dark") && view.matchMedia("(prefers-color-scheme: dark)").matches;
}

/** What a colour comes to on the screen: pages write it in any notation, `oklch(…)` among them. */
function drawn(document: Document, colour: string) {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (!context || !colour) return { red: 0, green: 0, blue: 0, opacity: 0 };
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0, opacity = 0] = context.getImageData(0, 0, 1, 1).data;
  return { red, green, blue, opacity };
}

function parentOf(element: Element): Element | null {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

/** What the first copy of this version on a page hands to the others: anywidget imports the code anew for each model. */
const page = globalThis as unknown as Record<symbol, { render(rendering: Rendering): () => void }>;

/** The widget, which lends its own modules to the panels: js/shared.mjs finds out which they need. */
export default (lent: Lent) => {
  const key = Symbol.for(`tfprof ${SOURCES_HASH}`);
  page[key] ??= { render: (rendering) => render(rendering, lent) };
  return page[key];
};
