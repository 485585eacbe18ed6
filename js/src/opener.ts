// Opens results that were saved in a page or notebook: unpacks the widget and what it shows from the scripts beside it.
//
// It is a script of its own in every saved result, so it opens each one that it finds not yet opened.

import type { Model, Rendering } from "./data/model.ts";
import { fromBase64, gunzipped, gunzippedText, importedText } from "./lib/packing.ts";

/** What tfprof_widget/widget/report.py packs as the part "state". */
interface State {
  readonly traits: Readonly<Record<string, unknown>>;
  readonly graphs: readonly Record<string, unknown>[];
  /** The version of the code, of which a part may lie in another result of the notebook. */
  readonly version: string;
}

/** What js/src/widget.ts exports. */
interface WidgetModule {
  readonly default: { render(rendering: Rendering): () => void };
}

// A kernel that is there draws the same result by then, and the saved one stays closed.
const PATIENCE_MILLISECONDS = 1200;
// A page that is still being read has its results in it, and no kernel, unless a server of Jupyter is behind it.
const mayHaveKernel =
  document.readyState !== "loading" || document.getElementById("jupyter-config-data") !== null;
// Whether the page's policy has refused a script.
let isForbidden = false;
document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
  isForbidden ||= effectiveDirective.startsWith("script-src");
});

// Where a page has its opener, written so that an opener does not hold the mark itself.
const OPENER = /<!-{2}opener-->/;

// Results of versions before this one have other parts, and openers of their own.
const UNOPENED = '[data-tfprof]:not([data-opened]):has(> [data-part="panels"])';

for (const block of document.querySelectorAll<HTMLElement>(UNOPENED)) {
  block.dataset.opened = "";
  open(block).catch((reason: unknown) => {
    // What was refused is told in a task of its own.
    setTimeout(() => {
      const note = block.appendChild(document.createElement("p"));
      note.textContent = whyStatic(reason);
    });
  });
}

function whyStatic(reason: unknown): string {
  if (!isForbidden)
    return `tfprof: this browser cannot open the result, so only this part is shown (${reason})`;
  return (
    "tfprof: the policy of this page (Content-Security-Policy, script-src) lets no further script in, so only this part " +
    "of the result is shown. widget.save_report(path) writes a page with sliders."
  );
}

async function open(block: HTMLElement): Promise<void> {
  const id = block.dataset.tfprof;
  if (id && (await isLive(id))) {
    block.hidden = true;
    return;
  }
  hideComplaint(block);
  const parts = block.querySelectorAll('script[data-part^="columns-"]').length;
  const source = text(block, "widget");
  const [state, { default: widget }, page, ...columns] = await Promise.all([
    text(block, "state").then((json) => JSON.parse(json) as State),
    source.then((code) => importedText<WidgetModule>(code)),
    text(block, "page").then((template) => template.replace(OPENER, () => openerOf(block))),
    ...Array.from({ length: parts }, (_, index) => gunzipped(packed(block, `columns-${index}`))),
  ]);
  const graphs = state.graphs.map((graph, index) => ({ ...graph, columns: columns[index] }));
  const model = savedModel({ ...state.traits, _graphs: graphs, _esm: await source });
  const place = document.createElement("div");
  block.querySelector("[data-static]")?.replaceWith(place);
  widget.render({
    model,
    el: place,
    assets: async () => ({
      panels: packed(block, "panels"),
      carried: carriedFor(block, "carried", state.version),
      charts: carriedFor(block, "charts", state.version),
      page,
    }),
  });
}

/** The script in a block that opens it, which the page of a report has, too; a host may have taken it out. */
function openerOf(block: HTMLElement): string {
  return block.querySelector(":scope > script:not([type])")?.textContent ?? "";
}

/** Packed code that one result has for all of a notebook: of the block itself, or of another one. */
function carriedFor(block: HTMLElement, name: string, version: string): Uint8Array | null {
  const selector = `[data-part="${name}"]`;
  const part =
    block.querySelector(selector) ??
    document.querySelector(`[data-tfprof] ${selector}[data-version="${version}"]`);
  return part?.textContent ? fromBase64(part.textContent) : null;
}

/** Hide what Jupyter says, soon or late, in the place of a widget whose kernel is gone: right before the saved result. */
function hideComplaint(block: HTMLElement): void {
  const before = block.closest(".jp-OutputArea-child")?.previousElementSibling;
  if (!(before instanceof HTMLElement)) return;
  const update = (): void => {
    const complains = /^(Loading widget|Error displaying widget)/.test(before.textContent?.trim() ?? "");
    // Not `hidden`: Jupyter's own styles say how it is displayed, and are stronger.
    before.style.display = complains ? "none" : "";
  };
  new MutationObserver(update).observe(before, { childList: true, subtree: true, characterData: true });
  update();
}

/** Whether a live widget draws the same result, now or soon. */
async function isLive(id: string): Promise<boolean> {
  const isThere = () => document.querySelector(`[data-tfprof-live="${id}"]`) !== null;
  const until = performance.now() + (mayHaveKernel ? PATIENCE_MILLISECONDS : 0);
  while (!isThere()) {
    if (performance.now() >= until) return false;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return true;
}

function savedModel(traits: Record<string, unknown>): Model {
  const values = new Map(Object.entries(traits));
  const events = new EventTarget();
  return {
    get: (name) => values.get(name),
    set: (name, value) => {
      values.set(name, value);
      events.dispatchEvent(new Event(`change:${name}`));
    },
    save_changes: () => {},
    on: (event, listener) => events.addEventListener(event, listener),
    off: (event, listener) => events.removeEventListener(event, listener),
  };
}

function packed(block: HTMLElement, part: string): Uint8Array {
  const encoded = block.querySelector(`script[data-part="${part}"]`)?.textContent;
  if (!encoded) throw new Error(`the part ${part} is missing`);
  return fromBase64(encoded);
}

function text(block: HTMLElement, part: string): Promise<string> {
  return gunzippedText(packed(block, part));
}
