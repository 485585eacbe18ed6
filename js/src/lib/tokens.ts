// Reads custom properties of an element, as the theme of its widget has them, or as the light one does.

/** The custom properties that hold for an element. */
export function tokensOf(element: Element): (name: string) => string {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name).trim();
}

/** What `read` finds while the widget around an element has the light theme. */
export function inLightTheme<Found>(element: Element, read: () => Found): Found {
  const root = element.getRootNode();
  const host = root instanceof ShadowRoot ? (root.host as HTMLElement) : null;
  const theme = host?.dataset.theme;
  if (!host || !theme) return read();
  host.dataset.theme = "light";
  try {
    return read();
  } finally {
    host.dataset.theme = theme;
  }
}
