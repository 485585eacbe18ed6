// What a click on a mark does to the selection.

/** The selection after a click on a name: it alone, or with what was selected; a second click takes it back. */
export function selectionAfter(selection: readonly string[], name: string, adds: boolean): readonly string[] {
  const isSelected = selection.includes(name);
  if (adds) return isSelected ? selection.filter((each) => each !== name) : [...selection, name];
  return isSelected && selection.length === 1 ? [] : [name];
}
