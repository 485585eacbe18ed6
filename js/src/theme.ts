// Follows the page: the widget is dark where what it stands on is dark, whatever notebook that is.

/** Keep `data-theme` of the element at light or dark; returns what ends this. */
export function followTheme(element: HTMLElement): () => void {
  const view = element.ownerDocument.defaultView;
  const preference = view?.matchMedia("(prefers-color-scheme: dark)");
  const update = (): void => {
    element.dataset.theme = isDark(element) ? "dark" : "light";
  };
  // Notebooks switch themes by a class or attribute of the root or the body, and load the styles a little later.
  const observer = new MutationObserver(() => {
    update();
    view?.setTimeout(update, 200);
  });
  for (const watched of [element.ownerDocument.documentElement, element.ownerDocument.body]) {
    observer.observe(watched, { attributes: true });
  }
  preference?.addEventListener("change", update);
  // Notebooks put a widget into the page after it was drawn, and only then there is something behind it.
  const arrival = new ResizeObserver(update);
  arrival.observe(element);
  update();
  return () => {
    observer.disconnect();
    arrival.disconnect();
    preference?.removeEventListener("change", update);
  };
}

/** Whether the colour behind an element is dark; where there is none, what the reader prefers. */
function isDark(element: HTMLElement): boolean {
  const view = element.ownerDocument.defaultView;
  if (!view) return false;
  for (let above: Element | null = element; above; above = parentOf(above)) {
    const colour = view
      .getComputedStyle(above)
      .backgroundColor.match(/[\d.]+/g)
      ?.map(Number);
    const [red = 0, green = 0, blue = 0, opacity = colour ? 1 : 0] = colour ?? [];
    if (opacity > 0.5) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  const scheme = view.getComputedStyle(element.ownerDocument.documentElement).colorScheme;
  return scheme.includes("dark") && view.matchMedia("(prefers-color-scheme: dark)").matches;
}

function parentOf(element: Element): Element | null {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}
