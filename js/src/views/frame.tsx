// The frame of the widget: the head line, the tabs, and the panels that belong to the tab.

import { useEffect, useRef } from "preact/hooks";
import { isTable, type Store } from "../state/store.ts";
import { Lazy, LazyStyle } from "../ui/lazy.tsx";
import { Filters } from "./filters.tsx";
import { useFolding } from "./folding.ts";
import { Head } from "./head.tsx";
import { PlainCosts } from "./plain_costs.tsx";
import { Status } from "./status.tsx";
import { TreeTable } from "./table/table.tsx";
import { Tabs } from "./tabs.tsx";

/** The whole widget. */
export function Frame({ store }: { readonly store: Store }) {
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
        {isTable(tab) && <Filters store={store} folding={folding} />}
        <div class="main">
          {isTable(tab) && <TreeTable store={store} />}
          {tab === "timeline" && <Lazy store={store} panel="Timeline" />}
          {tab === "memory" && <Lazy store={store} panel="MemoryPanel" />}
          {tab === "workers" && <Lazy store={store} panel="WorkersPanel" />}
          {tab === "advise" && <Lazy store={store} panel="AdvicePanel" />}
        </div>
        {isTable(tab) && (
          <aside class="side" aria-label="charts">
            <Lazy
              store={store}
              panel="Charts"
              lacking={(reason) => <PlainCosts store={store} reason={reason} />}
            />
            <Lazy store={store} panel="MiniTimeline" waiting={null} lacking={() => null} />
            <Lazy store={store} panel="SelectionPanel" waiting={null} />
          </aside>
        )}
      </div>
      <Status store={store} />
      <LazyStyle store={store} />
    </section>
  );
}
