// Why the value of an option does not do, under its control.

import type { OptionDescription } from "../data/protocol.ts";

// The control itself shows what is refused.
const REFUSED = /^RE2 refuses "[\s\S]*": /;

/** Says the reason when there is one. */
export function ProblemNote({
  option,
  reason,
}: {
  readonly option: OptionDescription;
  readonly reason: string | null;
}) {
  return (
    <p class="problem" role="alert" id={`problem-${option.name}`}>
      {reason !== null && `${reason.replace(REFUSED, "")} · showing the last good result`}
    </p>
  );
}
