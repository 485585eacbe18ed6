// Where in the code what is selected was made.

import { frameNamed, ownFrame, type PythonFrame, stackOf } from "../analysis/frames.ts";
import type { Selected } from "../analysis/selected.ts";
import type { Profile } from "../data/profile.ts";

interface Props {
  readonly profile: Profile;
  readonly names: readonly string[];
  readonly selected: Selected;
}

/** The line of the user's code behind it, and the whole stack on demand. */
export function Origin({ profile, names, selected }: Props) {
  const chosen = names.length === 1 ? frameNamed(profile, names[0] as string) : undefined;
  const about = selected.node >= 0 ? selected.node : selected.costliest;
  const stack = chosen ? [] : stackOf(profile, about);
  const frame = chosen ?? ownFrame(stack);
  if (!frame)
    return selected.count ? <p class="dim">No Python trace of it: where it was made is not known.</p> : null;
  const isOfOne = chosen || selected.count === 1 || selected.node >= 0;
  return (
    <>
      {!isOfOne && (
        <p class="dim line" title={profile.nodes.names[about]}>
          Its costliest, {lastPart(profile.nodes.names[about] as string)}, was made here:
        </p>
      )}
      <Code frame={frame} />
      {stack.length > 1 && (
        <details>
          <summary>all {stack.length} frames</summary>
          <ol class="stack">
            {stack.map((each, index) => (
              <li key={index} class={each.library ? "dim" : undefined} title={each.file}>
                {each.name}
                {each.source && <code>{each.source}</code>}
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

function Code({ frame: { file, line, function: name, source } }: { readonly frame: PythonFrame }) {
  return (
    <figure class="code">
      <figcaption title={file}>
        {file.slice(file.lastIndexOf("/") + 1)}:{line}
        {name && ` in ${name}`}
      </figcaption>
      {source && (
        <pre>
          <span class="dim">{line}</span> {source}
        </pre>
      )}
    </figure>
  );
}

/** The name without the scopes it is in. */
export function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}
