// The numbers of a chart that cannot be drawn, and why it cannot.

import type { ChartMark } from "./marks.tsx";

interface PlainTableProps {
  readonly label: string;
  readonly marks: readonly ChartMark[];
  readonly reason: string;
}

/** A row a mark, which its button chooses. */
export function PlainTable({ label, marks, reason }: PlainTableProps) {
  return (
    <div class="plain">
      <p class="dim" role="note">
        No chart: {reason}. Its numbers:
      </p>
      <table aria-label={label}>
        <tbody>
          {marks.map(({ key, lines: [name, ...others], isSelected, choose }) => (
            <tr key={key} aria-selected={isSelected}>
              <th scope="row">
                {choose ? (
                  <button
                    type="button"
                    aria-pressed={isSelected}
                    onClick={({ ctrlKey, metaKey }) => choose(ctrlKey || metaKey)}
                  >
                    {name?.[1]}
                  </button>
                ) : (
                  name?.[1]
                )}
              </th>
              {others.slice(0, 2).map(([title, text]) => (
                <td key={title}>{text}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
