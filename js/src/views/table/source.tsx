// The code tab as source: the user's own lines in order, with time and memory beside each, and the way to the tree.

import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { makersOf, type SourceLine, sourceLines } from "../../analysis/frames.ts";
import type { Options } from "../../data/protocol.ts";
import { exact, short, visible } from "../../lib/format.ts";
import { cutAtMatch } from "../../state/listing.ts";
import { codeReading, selectedNodes, stepsOf, stepsShown } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
import { Segments } from "../../ui/tables.tsx";

const NANOS_A_MICRO = 1000;

/** A column of figures: in microseconds or bytes, and its colour. */
interface FigureColumn {
  readonly title: string;
  readonly help: string;
  readonly colour: string;
  readonly measure: "micros" | "bytes";
  value(line: SourceLine): number;
}

const COLUMNS: readonly FigureColumn[] = [
  {
    title: "forward",
    help: "op time of what the line made, with all that it calls, a step",
    colour: "--forward",
    measure: "micros",
    value: ({ forward }) => forward,
  },
  {
    title: "gradient",
    help: "op time of gradients: of what the line made, or asked for in it, a step",
    colour: "--backward",
    measure: "micros",
    value: ({ gradient }) => gradient,
  },
  {
    title: "update",
    help: "op time of updates of variables, a step",
    colour: "--update",
    measure: "micros",
    value: ({ update }) => update,
  },
  {
    title: "memory",
    help: "requested by the ops of the line and their gradients, a step",
    colour: "--total",
    measure: "bytes",
    value: ({ bytes }) => bytes,
  },
  {
    title: "Python",
    help: "sampled in the line and what it calls while no run went on, in the whole cell",
    colour: "--python",
    measure: "micros",
    value: ({ python }) => python / NANOS_A_MICRO,
  },
  {
    title: "waiting",
    help: "sampled in the line while Python waited for input, in the whole cell",
    colour: "--input",
    measure: "micros",
    value: ({ input }) => input / NANOS_A_MICRO,
  },
  {
    title: "tracing",
    help: "sampled in the line while functions were built, in the whole cell",
    colour: "--rest",
    measure: "micros",
    value: ({ tracing }) => tracing / NANOS_A_MICRO,
  },
];

/** The lines of the shown graph; none where the options give no measures. */
function linesOf({ shown: { profile }, evaluation, initial }: Store): readonly SourceLine[] {
  const { view } = evaluation.value;
  try {
    return sourceLines(profile, view?.options ?? initial);
  } catch {
    return [];
  }
}

/** Whether the code tab is shown and read as source, and there is some. */
export function isReadAsSource(store: Store): boolean {
  return store.table.value === "code" && codeReading(store).value === "source" && linesOf(store).length > 0;
}

/** Whether to read code as a tree or as source; nothing where no line is the user's own. */
export function ReadingSwitch({ store }: { readonly store: Store }) {
  if (!linesOf(store).length) return null;
  return <Segments label="read code as" chosen={codeReading(store)} choices={["tree", "source"]} />;
}

/** The lines, which keys move through as through a table's rows: Enter selects what a line made, Escape clears. */
export function SourceTable({ store }: { readonly store: Store }) {
  const grid = useRef<HTMLTableElement>(null);
  const [active, setActive] = useState(-1);
  const { options } = store;
  const all = linesOf(store);
  const selection = store.selection.value;
  const isSelected = ({ names }: SourceLine): boolean => names.some((name) => selection.includes(name));
  const lines = all.filter((line) => isKept(line, options.value) || isSelected(line));
  const columns = COLUMNS.map((column) => ({
    ...column,
    most: all.reduce((most, line) => Math.max(most, column.value(line)), 0),
  })).filter(({ most }) => most > 0);
  const flags = selectedNodes(store).value;
  const isMaker = flags
    ? makersOf(store.shown.profile, stepsOf(stepsShown(store).value), flags)
    : () => false;
  const marked = lines.findIndex(isSelected);
  const first = marked < 0 ? lines.findIndex(isMaker) : marked;
  useEffect(() => {
    if (first < 0 || (lines[active] && isSelected(lines[active]))) return;
    setActive(first);
    bringIntoSight(grid.current, first);
  }, [selection]);
  const wanted = store.search.value.trim();
  return (
    <>
      <div class="strip">
        <ReadingSwitch store={store} />
        <span>ops: a step{all.some(({ python }) => python) && "; Python: sampled, the whole cell"}</span>
      </div>
      <div class="gutter">
        <table
          ref={grid}
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its rows are selected by arrow keys
          role="grid"
          tabIndex={0}
          aria-label="source"
          aria-multiselectable="true"
          aria-activedescendant={lines[active] ? `line-${active}` : undefined}
          onKeyDown={(event) => keyed(store, lines, active, setActive, event)}
        >
          <thead>
            <tr>
              {columns.map(({ title, help }) => (
                <th key={title} scope="col" title={help}>
                  {title}
                </th>
              ))}
              <th scope="col">line</th>
              <th scope="col">source</th>
            </tr>
          </thead>
          {filesOf(lines).map(({ file, from, to }) => (
            <tbody key={file}>
              <tr class="file">
                <th scope="rowgroup" colSpan={columns.length + 2} title={visible(file)}>
                  {visible(file.slice(file.lastIndexOf("/") + 1))}
                </th>
              </tr>
              {lines.slice(from, to).flatMap((line, at) => {
                const place = from + at;
                const before = at ? (lines[place - 1] as SourceLine).line : line.line - 1;
                return [
                  line.line > before + 1 && (
                    <tr key={`gap ${line.line}`} class="gap">
                      <td colSpan={columns.length + 1} title={`lines ${before + 1} to ${line.line - 1}`}>
                        ⋯
                      </td>
                      <td />
                    </tr>
                  ),
                  <tr
                    key={line.line}
                    id={`line-${place}`}
                    class={place === active ? "active" : undefined}
                    aria-selected={isSelected(line)}
                    data-made={isMaker(line) || undefined}
                    onClick={({ ctrlKey, metaKey }) => {
                      setActive(place);
                      select(store, line, ctrlKey || metaKey);
                    }}
                  >
                    {columns.map((column) => (
                      <Figure key={column.title} column={column} value={column.value(line)} />
                    ))}
                    <th scope="row" class="number">
                      {line.line}
                    </th>
                    <td class="text">
                      <Marked text={visible(line.source)} wanted={wanted} />
                    </td>
                  </tr>,
                ];
              })}
            </tbody>
          ))}
        </table>
        {lines.length < all.length && (
          <p class="dim">
            {(all.length - lines.length).toLocaleString("en")}{" "}
            {all.length - lines.length === 1 ? "line" : "lines"} hidden by min_micros or min_bytes
          </p>
        )}
      </div>
    </>
  );
}

interface FigureProps {
  readonly column: FigureColumn & { readonly most: number };
  readonly value: number;
}

/** A figure, and before it a bar by which lines are compared. */
function Figure({ column: { title, measure, colour, most }, value }: FigureProps) {
  return (
    <td data-title={title} title={value ? exact(measure, value) : undefined}>
      {value > 0 && (
        <>
          <i style={{ width: `${(100 * value) / most}%`, background: `var(${colour})` }} />
          {short(measure, value)}
        </>
      )}
    </td>
  );
}

function Marked({ text, wanted }: { readonly text: string; readonly wanted: string }) {
  const [before, match, after] = cutAtMatch(text, wanted);
  return (
    <code>
      {before}
      {match && <mark>{match}</mark>}
      {after}
    </code>
  );
}

/** The sliders hide lines as they hide rows: what an op or Python took there has to reach them. */
function isKept({ forward, gradient, update, bytes, python }: SourceLine, options: Options): boolean {
  const micros = Math.max(forward + gradient + update, python / NANOS_A_MICRO);
  return micros >= options.minMicros && bytes >= options.minBytes;
}

/** Where the lines of each file begin and end. */
function filesOf(lines: readonly SourceLine[]) {
  const found: { readonly file: string; readonly from: number; to: number }[] = [];
  lines.forEach(({ file }, at) => {
    const last = found.at(-1);
    if (last?.file === file) last.to = at + 1;
    else found.push({ file, from: at, to: at + 1 });
  });
  return found;
}

/** Select what a line made; a second time takes it back. */
function select({ selection }: Store, { names }: SourceLine, adds: boolean): void {
  const others = selection.value.filter((name) => !names.includes(name));
  const isThere = others.length < selection.value.length;
  if (adds) selection.value = isThere ? others : [...others, ...names];
  else selection.value = isThere && !others.length ? [] : names;
}

function keyed(
  store: Store,
  lines: readonly SourceLine[],
  active: number,
  setActive: (at: number) => void,
  event: TargetedKeyboardEvent<HTMLTableElement>,
): void {
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    Home: 0,
    End: lines.length - 1,
  };
  const line = lines[active];
  if (Object.hasOwn(moves, event.key)) {
    const to = Math.max(0, Math.min(lines.length - 1, moves[event.key] as number));
    setActive(to);
    bringIntoSight(event.currentTarget, to);
  } else if ((event.key === "Enter" || event.key === " ") && line) {
    select(store, line, event.ctrlKey || event.metaKey || event.key === " ");
  } else if (event.key === "Escape" && store.selection.value.length) store.selection.value = [];
  else return;
  event.preventDefault();
}

/** Scroll the lines, and not the page that they are on. */
function bringIntoSight(grid: HTMLTableElement | null, place: number): void {
  const row = grid?.querySelector<HTMLElement>(`#line-${place}`);
  const box = grid?.parentElement;
  if (!row || !box || !grid) return;
  const room = box.clientHeight - (grid.tHead?.offsetHeight ?? 0);
  const top =
    row.getBoundingClientRect().top - grid.getBoundingClientRect().top - (grid.tHead?.offsetHeight ?? 0);
  if (top < box.scrollTop || top + row.offsetHeight > box.scrollTop + room) box.scrollTop = top - room / 2;
}
