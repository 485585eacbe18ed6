// The theme that the widget has taken from the page, as a value to render by.

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** "light" or "dark", kept up to date; empty until the element is on the page. */
export function useTheme(place: RefObject<HTMLElement | null>): string {
  const [theme, setTheme] = useState("");
  useEffect(() => {
    const root = place.current?.getRootNode();
    if (!(root instanceof ShadowRoot)) return;
    const host = root.host as HTMLElement;
    const update = () => setTheme(host.dataset.theme ?? "light");
    const observer = new MutationObserver(update);
    observer.observe(host, { attributeFilter: ["data-theme"] });
    update();
    return () => observer.disconnect();
  }, [place]);
  return theme;
}
