// Which options somebody has changed.

import { OPTIONS, type OptionDescription } from "../data/protocol.ts";
import type { Store } from "../state/store.ts";

/** The options whose value is not the one they started with. */
export function changedOptions({ options, initial }: Store): readonly OptionDescription[] {
  return OPTIONS.filter(({ key }) => JSON.stringify(options.value[key]) !== JSON.stringify(initial[key]));
}
