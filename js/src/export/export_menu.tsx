// The menu of exports: what is shown now as files.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { isTable, type Store } from "../state/store.ts";
import { chartNames, picture, svg } from "./charts.ts";
import { chromeTraceParts } from "./chrome_trace.ts";
import { collected, download } from "./download.ts";
import { fileName } from "./file_name.ts";
import { csvParts } from "./files.ts";
import { Menu, type MenuItem } from "./menu.tsx";
import { escaped, packedParts, page } from "./page.ts";
import { staticTable } from "./static_table.ts";

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

function chartExports({ chartViews }: Store, surface: string): readonly Export[] {
  const names = chartNames(chartViews);
  return names.flatMap(({ label, name }): Export[] => {
    const view = chartViews.get(name);
    const lacking = view ? undefined : "no chart is shown";
    return [
      {
        label: `${label} as SVG`,
        shown: name,
        extension: "svg",
        lacking,
        content: async () => (view ? svg(view, surface) : new Blob()),
      },
      {
        label: `${label} as PNG`,
        shown: name,
        extension: "png",
        lacking,
        content: async () => (view ? picture(view, surface) : new Blob()),
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
