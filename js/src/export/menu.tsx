// A button that opens a menu, with the keys of the ARIA menu button pattern.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

/** One thing to do; `lacking` says why it cannot be done now. */
export interface MenuItem {
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
export function Menu({ label, items }: Props) {
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
