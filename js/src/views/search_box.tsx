// The search: what is typed is marked in tables and timeline, and Enter goes from match to match of the table.

import { useEffect, useRef } from "preact/hooks";
import { isTable, type Store } from "../state/store.ts";
import { tableOf } from "../state/table.ts";

// What is typed quickly is searched for once: each match that is gone to unfolds what hides it.
const PAUSE_MILLISECONDS = 200;

/** The box and how many matches there are; `/` anywhere in the widget puts the cursor into it. */
export function SearchBox({ store }: { readonly store: Store }) {
  const box = useRef<HTMLInputElement>(null);
  const pause = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const state = tableOf(store);
  useEffect(() => {
    const root = box.current?.getRootNode();
    const focus = (event: Event): void => {
      if ((event as KeyboardEvent).key !== "/" || isTyping(event.target)) return;
      event.preventDefault();
      box.current?.focus();
      box.current?.select();
    };
    root?.addEventListener("keydown", focus);
    return () => {
      clearTimeout(pause.current);
      root?.removeEventListener("keydown", focus);
    };
  }, []);
  const isOfTable = isTable(store.tab.value);
  return (
    <span class="search">
      <input
        ref={box}
        type="search"
        aria-label="find a node"
        placeholder="Find a node  ( / )"
        title="Enter: next match, Shift+Enter: the one before"
        value={store.search.value}
        onInput={(event) => {
          store.search.value = event.currentTarget.value;
          clearTimeout(pause.current);
          if (isOfTable) pause.current = setTimeout(() => state.find(1, true), PAUSE_MILLISECONDS);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !isOfTable) return;
          event.preventDefault();
          clearTimeout(pause.current);
          state.find(event.shiftKey ? -1 : 1);
        }}
      />
      {isOfTable && store.search.value.trim() && (
        <output aria-live="polite">{found(state.matches.value.length, state.match.value)}</output>
      )}
    </span>
  );
}

function found(count: number, at: number): string {
  if (!count) return "none";
  return at < 0
    ? count.toLocaleString("en")
    : `${(at + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.matches("input:not([type=checkbox], [type=range]), textarea, select")
  );
}
