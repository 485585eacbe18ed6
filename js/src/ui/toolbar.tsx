// What toolbars share: a button that has a key as well, and going to what is searched for from the search box.

/** A button of a toolbar; `keys` do the same, and `isOn` is given where it is a switch. */
export function Tool(props: {
  readonly name: string;
  readonly keys: string;
  readonly act: () => void;
  readonly text: string;
  readonly isOn?: boolean;
}) {
  const { name, keys, act, text, isOn } = props;
  const title = keys ? `${name} (${keys})` : name;
  return (
    <button type="button" aria-label={name} aria-pressed={isOn} title={title} onClick={act}>
      {text}
    </button>
  );
}

/** Go to the next or the previous of what is searched for by Enter in the search box of a widget; returns what ends this. */
export function followSearch(within: Element, find: (by: 1 | -1) => void): () => void {
  const widget = within.closest<HTMLElement>(".tfprof");
  const go = (event: KeyboardEvent): void => {
    const isBox = event.target instanceof Element && event.target.matches("input[type=search]");
    if (event.key === "Enter" && isBox) find(event.shiftKey ? -1 : 1);
  };
  widget?.addEventListener("keydown", go);
  return () => widget?.removeEventListener("keydown", go);
}
