// The frame of the widget: the head line, the tabs, and the panels that belong to the tab.

import { useEffect, useRef } from "preact/hooks";
import { isTable, type Store } from "./store.ts";
import { Controls } from "./ui/controls.tsx";
import { useFolding } from "./ui/folding.ts";
import { Head } from "./ui/head.tsx";
import { Status } from "./ui/status.tsx";
import { Tabs } from "./ui/tabs.tsx";
import { AdvicePanel } from "./views/advice.tsx";
import { Charts } from "./views/charts.tsx";
import { MemoryPanel } from "./views/memory.tsx";
import { SelectionPanel } from "./views/selection.tsx";
import { TimelineStrip } from "./views/timeline/strip.tsx";
import { Timeline } from "./views/timeline/timeline.tsx";
import { TreeTable } from "./views/tree/tree_table.tsx";

/** The whole widget. */
export function App({ store }: { readonly store: Store }) {
  const root = useRef<HTMLElement>(null);
  const folding = useFolding(root);
  useEffect(() => {
    const frame = requestAnimationFrame(() => root.current?.setAttribute("data-ready", "true"));
    return () => cancelAnimationFrame(frame);
  }, []);
  if (!store.graphs.length) {
    return (
      <section ref={root} class="tfprof" aria-label="tfprof">
        <Head store={store} />
      </section>
    );
  }
  const tab = store.tab.value;
  return (
    <section ref={root} class="tfprof" aria-label="tfprof">
      <Head store={store} />
      <Tabs store={store} />
      <div
        class="body"
        data-tab={tab}
        data-folded={folding.isFolded.value || undefined}
        role="tabpanel"
        id="panel"
        aria-labelledby={`tab-${tab}`}
      >
        {isTable(tab) && <Controls store={store} folding={folding} />}
        <div class="main">
          {isTable(tab) && <TreeTable store={store} />}
          {tab === "timeline" && <Timeline store={store} />}
          {tab === "memory" && <MemoryPanel store={store} />}
          {tab === "advise" && <AdvicePanel store={store} />}
        </div>
        {isTable(tab) && (
          <aside class="side" aria-label="charts">
            <Charts store={store} />
            <TimelineStrip store={store} />
            <SelectionPanel store={store} />
          </aside>
        )}
      </div>
      <Status store={store} />
    </section>
  );
}
