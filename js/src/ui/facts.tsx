// The facts of the head line: how it was measured, in full on hover.

import type { ComponentChildren } from "preact";
import type { Fact } from "../data/graphs.ts";

interface FactListProps {
  readonly facts: readonly Fact[];
  /** Further items of the list. */
  readonly children?: ComponentChildren;
}

/** A list of facts. */
export function FactList({ facts, children }: FactListProps) {
  return (
    <ul class="facts">
      {facts.map(({ label, value, help }) => (
        <li key={label} title={help}>
          {label} <b>{value}</b>
        </li>
      ))}
      {children}
    </ul>
  );
}
