// Controls under a title.

import type { ComponentChildren } from "preact";

/** What the title says is true of all of them. */
export function FieldGroup({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  return (
    <fieldset class="group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}
