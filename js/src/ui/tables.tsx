// Room for a table that may be wider than the widget.

import type { ComponentChildren } from "preact";

/** Scrolls across, by the keyboard as well. */
export function ScrollSideways({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section class="wide" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
