// The table of a comparison: what each op took before and after, the ratio as a bar, and the verdict.

import { type ChangedRow, COMPARED_BY, type ComparedBy, type RunComparison } from "../../data/history.ts";
import { shortTime, visible } from "../../lib/format.ts";
import { ScrollSideways, SelectField } from "../../ui/tables.tsx";
import type { HistoryState } from "./history_state.ts";

/** The table, what it is of, and how much of it there is. */
export function ChangesTable({
  comparison,
  state,
}: {
  readonly comparison: RunComparison;
  readonly state: HistoryState;
}) {
  const by = state.by.value;
  const rows = comparison.tables[by];
  const reach = reachOf(rows);
  const differ = rows.filter(({ status, verdict }) => status !== "matched" || isCalled(verdict)).length;
  return (
    <section aria-label="what changed">
      <SelectField<ComparedBy> label="by" chosen={state.by} choices={COMPARED_BY} />
      <ScrollSideways label="comparison">
        <table class="figures compared">
          <thead>
            <tr>
              <th scope="col">{by}</th>
              <th scope="col">before</th>
              <th scope="col">after</th>
              <th scope="col">ratio, 95 % (line: equal)</th>
              <th scope="col">verdict</th>
              <th scope="col">matched by</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, place) => (
              <tr key={place}>
                <th scope="row">{rowName(row)}</th>
                <td>{micros(row.beforeMicros)}</td>
                <td>{micros(row.afterMicros)}</td>
                <td>
                  <RatioBar row={row} reach={reach} />
                </td>
                <td data-verdict={row.verdict}>{verdictOf(row)}</td>
                <td class="dim">{row.status === "matched" ? row.matchedBy : row.status}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollSideways>
      <p class="dim history-foot">
        <span>
          {differ.toLocaleString("en")} of {comparison.rows[by].toLocaleString("en")} rows differ or are new
          {rows.length < comparison.rows[by] && ` (${rows.length} are shown)`} · false alarms held below 5 %
        </span>
        <span>
          {comparison.notes.length ? "not in the same surroundings" : "same machine, same versions"}
        </span>
      </p>
    </section>
  );
}

function micros(value: number | null): string {
  return value === null ? "–" : shortTime(value);
}

function rowName({ name, beforeName }: ChangedRow): string {
  return visible(beforeName && beforeName !== name ? `${beforeName} → ${name}` : name);
}

function isCalled(verdict: string): boolean {
  return verdict === "slower" || verdict === "faster";
}

function verdictOf({ status, verdict }: ChangedRow): string {
  return { added: "new", removed: "gone", matched: verdict }[status];
}

const LEAST_REACH = Math.log(1.25);
const MOST_REACH = Math.log(4);

/** The log ratio at either end of the bars: that of the widest interval, within bounds. */
export function reachOf(rows: readonly ChangedRow[]): number {
  const ends = rows
    .flatMap(({ ratio, low, high }) => [ratio, low, high])
    .filter((each) => each !== null && each > 0);
  const most = Math.max(0, ...ends.map((each) => Math.abs(Math.log(each as number))));
  return Math.min(Math.max(most, LEAST_REACH), MOST_REACH);
}

/** The interval of a ratio as a bar, with a line where nothing changed; a ratio without one is a dot. */
function RatioBar({ row, reach }: { readonly row: ChangedRow; readonly reach: number }) {
  const { ratio, low, high, verdict } = row;
  if (ratio === null) return <div class="ratio" />;
  const at = (value: number): number =>
    50 + 50 * Math.max(-1, Math.min(1, Math.log(Math.max(value, 1e-9)) / reach));
  const [first, last] = low === null || high === null ? [at(ratio), at(ratio)] : [at(low), at(high)];
  const text = low === null || high === null ? ratio.toFixed(2) : `${low.toFixed(2)} to ${high.toFixed(2)}`;
  return (
    <div class="ratio data" title={`${ratio.toFixed(3)} (${text})`}>
      <i
        data-verdict={verdict}
        style={{ insetInlineStart: `${first}%`, inlineSize: `max(6px, ${last - first}%)` }}
      />
      <span class="spoken">{text}</span>
    </div>
  );
}
