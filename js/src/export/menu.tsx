// The menu of exports: an ARIA menu button, and what each of its items writes.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { isTable, type Store } from "../state/store.ts";
import {
  chromeTraceParts,
  collected,
  copy,
  csvParts,
  download,
  fileName,
  markdownTable,
  whyNoClipboard,
} from "./files.ts";
import { graphPng, graphSvg } from "./graph_picture.ts";
import { escaped, packedParts, page, staticPart } from "./page.ts";
import { type PictureChoice, pictureChoices, png, svg } from "./pictures.ts";

type Told = (count: number) => void;

/** What can be written: how the menu calls it, and what writing it does; `lacking` says why it cannot be done now. */
interface Export {
  /** What it is called by itself, and beside its neighbours. */
  readonly label: string;
  readonly brief: string;
  readonly lacking?: string | undefined;
  readonly write: (told: Told) => Promise<void>;
}

/** Exports of one thing. */
interface ExportGroup {
  readonly name: string;
  readonly exports: readonly Export[];
}

/** The button, and beside it how far an export is, or why it failed. */
export function ExportMenu({ store }: { readonly store: Store }) {
  const said = useSignal("");
  const place = useRef<HTMLDivElement>(null);
  const write = async ({ label, write: start }: Export): Promise<void> => {
    said.value = "exporting …";
    try {
      await start((count) => {
        if (count % 20 === 0) said.value = `exporting … part ${count}`;
      });
      said.value = label.includes(": copy") ? "copied" : "";
    } catch (error) {
      said.value = `${label} failed: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
  const groups = (): readonly MenuGroup[] =>
    exportsOf(store, place.current as Element).map(({ name, exports }) => ({
      name,
      items: exports.map((each) => ({ ...each, run: () => void write(each) })),
    }));
  return (
    <div ref={place} class="exports">
      <span aria-live="polite" class="dim">
        {said.value}
      </span>
      <Menu label="Export" groups={groups} />
    </div>
  );
}

function exportsOf(store: Store, within: Element): readonly ExportGroup[] {
  const { profile } = store.shown;
  const { view } = store.evaluation.peek();
  const rows = view && isTable(store.tab.peek()) ? view : null;
  const noRows = rows ? undefined : "no table is shown";
  const save = (shown: string, extension: string, content: Blob): void =>
    download(fileName(store.title.peek(), shown, extension), content);
  const table = store.table.peek();
  const asMarkdown = async () => new Blob([rows ? markdownTable(rows) : ""], { type: "text/plain" });
  return [
    ...pictureChoices(store).map((choice) =>
      pictureExports(choice, { svg: drawn(store, choice, svg), png: drawn(store, choice, png) }, save),
    ),
    pictureExports(
      { name: "graph" },
      { svg: () => graphSvg(store, within), png: () => graphPng(store, within) },
      save,
    ),
    {
      name: "table",
      exports: [
        {
          label: "Table as CSV",
          brief: "CSV",
          lacking: noRows,
          write: async (told) =>
            save(table, "csv", await collected(rows ? csvParts(rows) : [], "text/csv", told)),
        },
        {
          label: "Table as Markdown",
          brief: "Markdown",
          lacking: noRows,
          write: async () => save(table, "md", await asMarkdown()),
        },
        {
          label: "Table: copy as Markdown",
          brief: "copy",
          lacking: noRows ?? whyNoClipboard(),
          write: () => copy({ "text/plain": asMarkdown }),
        },
      ],
    },
    {
      name: "everything",
      exports: [
        {
          label: "Timeline as Chrome trace",
          brief: "Chrome trace",
          lacking: profile.executions.node.length ? undefined : "no run was recorded",
          write: async (told) =>
            save("timeline", "json", await collected(chromeTraceParts(profile), "application/json", told)),
        },
        {
          label: "Everything as one page",
          brief: "page",
          write: async () => save("", "html", await wholePage(store)),
        },
      ],
    },
  ];
}

type Making = () => Promise<Blob>;

/** A picture as SVG and PNG, saved or copied. */
function pictureExports(
  { name, lacking }: PictureChoice,
  make: { readonly svg: Making; readonly png: Making },
  save: (shown: string, extension: string, content: Blob) => void,
): ExportGroup {
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  const asText = async () => new Blob([await (await make.svg()).text()], { type: "text/plain" });
  const noCopy = lacking ?? whyNoClipboard();
  return {
    name,
    exports: [
      {
        label: `${title} as SVG`,
        brief: "SVG",
        lacking,
        write: async () => save(name, "svg", await make.svg()),
      },
      {
        label: `${title} as PNG`,
        brief: "PNG",
        lacking,
        write: async () => save(name, "png", await make.png()),
      },
      {
        label: `${title}: copy SVG`,
        brief: "copy SVG",
        lacking: noCopy,
        write: () => copy({ "image/svg+xml": make.svg, "text/plain": asText }),
      },
      {
        label: `${title}: copy PNG`,
        brief: "copy PNG",
        lacking: noCopy,
        write: () => copy({ "image/png": make.png }),
      },
    ],
  };
}

/** Draws a chart, if it can be drawn. */
function drawn(store: Store, { chart }: PictureChoice, make: typeof svg): Making {
  return async () => (chart ? make(store, chart) : new Blob());
}

async function wholePage(store: Store): Promise<Blob> {
  const { host, title, evaluation, shown } = store;
  const assets = await host.assets();
  const { view } = evaluation.peek();
  const chart = pictureChoices(store).find(({ name }) => name === "op types")?.chart;
  const picture = chart && (await svg(store, chart).catch(() => undefined));
  const content = page(assets.page, {
    title: escaped(title.peek() || "tfprof"),
    static: await staticPart(title.peek(), shown.facts, view, picture),
    parts: await packedParts(host.model, assets),
  });
  return new Blob([content], { type: "text/html" });
}

/** One thing to do; `lacking` says why it cannot be done now. */
interface MenuItem {
  readonly label: string;
  readonly brief: string;
  readonly lacking?: string | undefined;
  readonly run: () => void;
}

/** Things to do with one thing, side by side. */
interface MenuGroup {
  readonly name: string;
  readonly items: readonly MenuItem[];
}

interface Props {
  readonly label: string;
  /** Asked for when the menu opens. */
  readonly groups: () => readonly MenuGroup[];
}

interface Toggled {
  readonly newState: string;
}

const GAP = 4;

/** The button and its menu, which lies above everything else on the page. */
function Menu({ label, groups }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const first = useRef(0);
  const shown = useSignal<readonly MenuGroup[]>([]);
  const close = (): void => menu.current?.hidePopover();
  const leave = (): void => {
    close();
    button.current?.focus();
  };
  const prepare = ({ newState }: Toggled): void => {
    if (newState !== "open" || !button.current || !menu.current) return;
    shown.value = groups();
    const { bottom, right } = button.current.getBoundingClientRect();
    menu.current.style.top = `${bottom + GAP}px`;
    menu.current.style.right = `${document.documentElement.clientWidth - right}px`;
    addEventListener("scroll", close, { capture: true, once: true });
  };
  const settle = ({ newState }: Toggled): void => {
    if (newState === "open") focusOn(menu.current, first.current);
    else shown.value = [];
    first.current = 0;
  };
  return (
    <div class="menu">
      <button
        ref={button}
        type="button"
        aria-haspopup="menu"
        aria-expanded={shown.value.length > 0}
        popovertarget="menu"
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
          event.preventDefault();
          first.current = event.key === "ArrowDown" ? 0 : -1;
          menu.current?.showPopover();
        }}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      <div
        ref={menu}
        id="menu"
        popover="auto"
        role="menu"
        aria-label={label}
        onBeforeToggle={prepare}
        onToggle={settle}
        onKeyDown={(event) => go(event, leave, close)}
      >
        {shown.value.map(({ name, items }) => (
          // biome-ignore lint/a11y/useSemanticElements: groups of a menu are no fieldsets
          <div key={name} role="group" aria-label={name}>
            <span aria-hidden="true">{name}</span>
            {items.map((item) => (
              <button
                key={item.label}
                type="button"
                role="menuitem"
                aria-label={item.label}
                tabIndex={-1}
                aria-disabled={item.lacking !== undefined}
                title={item.lacking}
                onClick={() => {
                  if (item.lacking !== undefined) return;
                  leave();
                  item.run();
                }}
              >
                {item.brief}
              </button>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function go(
  event: KeyboardEvent & { readonly currentTarget: HTMLElement },
  leave: () => void,
  close: () => void,
): void {
  const next = nextEntry(event.currentTarget, event.target as HTMLElement, event.key);
  if (event.key === "Tab") {
    close();
    return;
  }
  if (event.key === "Escape") leave();
  else if (next) next.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Left and right go through the entries of a group, up and down from group to group; at the ends it goes round. */
function nextEntry(menu: HTMLElement, from: HTMLElement, key: string): HTMLElement | undefined {
  const entries = entriesOf(menu);
  const groups = [...menu.children].map((group) => entriesOf(group as HTMLElement));
  const group = groups.findIndex((each) => each.includes(from));
  const place = groups[group]?.indexOf(from) ?? 0;
  const beside = (by: number) => entries.at((entries.indexOf(from) + by) % entries.length);
  const across = (by: number) => {
    const found = groups.at((group + by) % groups.length) ?? [];
    return found[Math.min(place, found.length - 1)];
  };
  switch (key) {
    case "ArrowRight":
      return beside(1);
    case "ArrowLeft":
      return beside(-1);
    case "ArrowDown":
      return across(1);
    case "ArrowUp":
      return across(-1);
    case "Home":
      return entries.at(0);
    case "End":
      return entries.at(-1);
  }
  return undefined;
}

function focusOn(menu: HTMLElement | null, at: number): void {
  if (!menu) return;
  const entries = entriesOf(menu);
  entries.at(at % entries.length)?.focus();
}

function entriesOf(menu: HTMLElement): readonly HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
}
