// The menu of exports: an ARIA menu button, and what each of its items writes.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { isTable, type Store } from "../state/store.ts";
import { chromeTraceParts } from "./chrome_trace.ts";
import { chartNames, collected, csvParts, download, fileName, png, svg } from "./files.ts";
import { escaped, packedParts, page, staticTable } from "./page.ts";

type Told = (count: number) => void;

/** What can be written: how the menu calls it, the file's name after the title, and its content. */
interface Export {
  readonly label: string;
  readonly shown: string;
  readonly extension: string;
  readonly lacking?: string | undefined;
  readonly content: (told: Told) => Promise<Blob>;
}

/** The button, and beside it how far an export is, or why it failed. */
export function ExportMenu({ store }: { readonly store: Store }) {
  const said = useSignal("");
  const beside = useRef<HTMLSpanElement>(null);
  const write = async (wanted: Export): Promise<void> => {
    said.value = "exporting …";
    try {
      const content = await wanted.content((count) => {
        if (count % 20 === 0) said.value = `exporting … part ${count}`;
      });
      download(fileName(store.title.peek(), wanted.shown, wanted.extension), content);
      said.value = "";
    } catch (error) {
      said.value = `${wanted.label} failed: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
  const items = (): readonly MenuItem[] =>
    exportsOf(store, surfaceOf(beside.current)).map((each) => ({
      label: each.label,
      lacking: each.lacking,
      run: () => void write(each),
    }));
  return (
    <div class="exports">
      <span ref={beside} aria-live="polite" class="dim">
        {said.value}
      </span>
      <Menu label="Export" items={items} />
    </div>
  );
}

/** The colour that the charts stand on. */
function surfaceOf(element: HTMLElement | null): string {
  return element ? getComputedStyle(element).getPropertyValue("--surface").trim() : "white";
}

function exportsOf(store: Store, surface: string): readonly Export[] {
  const { profile } = store.shown;
  const { view } = store.evaluation.peek();
  const isShown = isTable(store.tab.peek());
  return [
    ...chartExports(store, surface),
    {
      label: "Table as CSV",
      shown: store.table.peek(),
      extension: "csv",
      lacking: view && isShown ? undefined : "no table is shown",
      content: (told) => collected(view ? csvParts(view) : [], "text/csv", told),
    },
    {
      label: "Timeline as Chrome trace",
      shown: "timeline",
      extension: "json",
      lacking: profile.executions.node.length ? undefined : "no run was recorded",
      content: (told) => collected(chromeTraceParts(profile), "application/json", told),
    },
    { label: "Everything as one page", shown: "", extension: "html", content: () => wholePage(store) },
  ];
}

function chartExports({ drawings }: Store, surface: string): readonly Export[] {
  const names = chartNames(drawings.value);
  return names.flatMap(({ label, name }): Export[] => {
    const drawing = drawings.value.get(name);
    const lacking = drawing ? undefined : "no chart is shown";
    return [
      {
        label: `${label} as SVG`,
        shown: name,
        extension: "svg",
        lacking,
        content: async () => (drawing ? svg(drawing, surface) : new Blob()),
      },
      {
        label: `${label} as PNG`,
        shown: name,
        extension: "png",
        lacking,
        content: async () => (drawing ? png(drawing, surface) : new Blob()),
      },
    ];
  });
}

async function wholePage({ host, title, evaluation }: Store): Promise<Blob> {
  const assets = await host.assets();
  const { view } = evaluation.peek();
  const content = page(assets.page, {
    title: escaped(title.peek() || "tfprof"),
    static: view ? staticTable(view) : "",
    parts: await packedParts(host.model, assets),
  });
  return new Blob([content], { type: "text/html" });
}

/** One thing to do; `lacking` says why it cannot be done now. */
interface MenuItem {
  readonly label: string;
  readonly lacking?: string | undefined;
  readonly run: () => void;
}

interface Props {
  readonly label: string;
  /** Asked for when the menu opens. */
  readonly items: () => readonly MenuItem[];
}

interface Toggled {
  readonly newState: string;
}

const GAP = 4;

/** The button and its menu, which lies above everything else on the page. */
function Menu({ label, items }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const first = useRef(0);
  const shown = useSignal<readonly MenuItem[]>([]);
  const close = (): void => menu.current?.hidePopover();
  const leave = (): void => {
    close();
    button.current?.focus();
  };
  const prepare = ({ newState }: Toggled): void => {
    if (newState !== "open" || !button.current || !menu.current) return;
    shown.value = items();
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
        {shown.value.map((item) => (
          <button
            key={item.label}
            type="button"
            role="menuitem"
            tabIndex={-1}
            aria-disabled={item.lacking !== undefined}
            title={item.lacking}
            onClick={() => {
              if (item.lacking !== undefined) return;
              leave();
              item.run();
            }}
          >
            {item.label}
          </button>
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
  const entries = entriesOf(event.currentTarget);
  const at = entries.indexOf(event.target as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (event.key === "Tab") {
    close();
    return;
  }
  if (event.key === "Escape") leave();
  else if (next !== undefined) focusOn(event.currentTarget, next);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function focusOn(menu: HTMLElement | null, at: number): void {
  if (!menu) return;
  const entries = entriesOf(menu);
  entries.at(at % entries.length)?.focus();
}

function entriesOf(menu: HTMLElement): readonly HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
}
