// The line under the head of a graph that is cut: what a row stands for, and how to have it whole.

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Cut } from "../data/graphs.ts";
import type { Store } from "../state/store.ts";
import { tableOf } from "../state/table.ts";
import { CutRequests } from "./asking.ts";
import { isNothing, type MergedRow, mergedRow, type Wanted, wantedBy } from "./wanted.ts";

// Someone may be typing a regex or dragging the step.
const STILL_MILLISECONDS = 400;

/** Says what can be had of the kernel, what it is doing, and why it could not. */
export function CutLine({ store }: { readonly store: Store }) {
  const asking = useMemo(() => new CutRequests(store), [store, store.graph.value]);
  useEffect(() => () => asking.dispose(), [asking]);
  const { profile, cut } = store.shown;
  const hasKernel = Boolean(store.host.model.send);
  useWantedByOptions(store, asking, hasKernel);
  const names = store.selection.value;
  const row = names.length === 1 ? mergedRow(profile, names[0] as string) : null;
  const { progress, problem } = asking.asked.value;
  const line = useRef<HTMLElement>(null);
  useOpeningInTheTable(line, hasKernel && row ? () => open(store, asking, row) : null);
  if (!cut) return null;
  return (
    <section ref={line} class="rest" aria-label="what is not here">
      {progress !== undefined && (
        <p role="status">
          <progress aria-label="the kernel's work" /> {progress} …
        </p>
      )}
      {problem !== undefined && (
        <p role="alert">
          {problem}{" "}
          <button type="button" onClick={() => asking.again()}>
            Ask again
          </button>
        </p>
      )}
      {row && hasKernel && progress === undefined && (
        <p>
          Selected: {row.count} nodes of type {row.op}
          {row.scope && ` in ${row.scope}`}, put together.{" "}
          <button type="button" onClick={() => open(store, asking, row)}>
            Show them
          </button>
        </p>
      )}
      {!hasKernel && <p>{withoutKernel(row, wantedBy(store.options.value, cut))}</p>}
    </section>
  );
}

/** Ask for what the options want, once they stand still, beside the row that was opened last. */
function useWantedByOptions(store: Store, asking: CutRequests, hasKernel: boolean): void {
  const { cut } = store.shown;
  const { problem } = store.evaluation.value;
  const wanted = cut && !problem ? wantedBy(store.options.value, cut) : {};
  const written = JSON.stringify(wanted);
  useEffect(() => {
    const { scope, op, ...before } = asking.last;
    const isKnown = written === JSON.stringify(before) && !asking.asked.peek().problem;
    if (!hasKernel || isNothing(wanted) || isKnown) return;
    const opened = scope !== undefined && { scope, op };
    const still = setTimeout(() => asking.ask({ ...wanted, ...opened }), STILL_MILLISECONDS);
    return () => clearTimeout(still);
  }, [written, asking]);
}

/** Let a double click on the selected row open it, or Enter, as the table unfolds the others. */
function useOpeningInTheTable(line: RefObject<HTMLElement | null>, openRow: (() => void) | null): void {
  // In a layout effect: Enter or a double click may come before the paint that follows the selecting click.
  useLayoutEffect(() => {
    const widget = line.current?.closest<HTMLElement>(".tfprof");
    if (!widget || !openRow) return;
    const hear = (event: Event): void => {
      const isInTable = event.target instanceof Element && event.target.closest("[role=treegrid]");
      if (isInTable && (event.type === "dblclick" || (event as KeyboardEvent).key === "Enter")) openRow();
    };
    // Before the table itself hears it: the Enter that selects a row does not open it as well.
    widget.addEventListener("dblclick", hear, true);
    widget.addEventListener("keydown", hear, true);
    return () => {
      widget.removeEventListener("dblclick", hear, true);
      widget.removeEventListener("keydown", hear, true);
    };
  });
}

/** Have the nodes of a row whole, and go to the scope that they are in. */
function open(store: Store, asking: CutRequests, { scope, op }: MergedRow): void {
  asking.ask({ ...wantedBy(store.options.peek(), store.shown.cut as Cut), scope, op }, () => {
    store.selection.value = scope ? [scope] : [];
    unfold(store, scope);
  });
}

function unfold(store: Store, scope: string): void {
  const trees = tableOf(store);
  const listing = trees.listing.peek();
  const place = listing?.view.forest.tree.names.indexOf(scope) ?? -1;
  const row = place < 0 ? -1 : (listing?.view.places.indexOf(place) ?? -1);
  if (listing && row >= 0) trees.fold(listing, row, false);
}

/** Where the rest is, for who reads a saved page. */
function withoutKernel(row: MergedRow | null, wanted: Wanted): string {
  const scope = row?.scope ? `start_name_regexes=[${JSON.stringify(row.scope)}]` : "start_name_regexes=[…]";
  const what = row
    ? `The ${row.count} nodes of this row are not in this page`
    : isNothing(wanted)
      ? "What was put together is not in this page"
      : "Not all that the options ask for is in this page";
  return `${what}: it needs the kernel. In a notebook, profile.widget(${scope}) shows it.`;
}
