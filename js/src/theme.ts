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
    const { red, green, blue, opacity } = drawn(
      element.ownerDocument,
      view.getComputedStyle(above).backgroundColor,
    );
    if (opacity > 128) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  const scheme = view.getComputedStyle(element.ownerDocument.documentElement).colorScheme;
  return scheme.includes("dark") && view.matchMedia("(prefers-color-scheme: dark)").matches;
}

/** What a colour comes to on the screen: pages write it in any notation, `oklch(…)` among them. */
function drawn(document: Document, colour: string) {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (!context || !colour) return { red: 0, green: 0, blue: 0, opacity: 0 };
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0, opacity = 0] = context.getImageData(0, 0, 1, 1).data;
  return { red, green, blue, opacity };
}

function parentOf(element: Element): Element | null {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}
