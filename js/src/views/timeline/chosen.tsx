// What is pointed at, chosen and marked on the timeline: a card, a table of facts with links, and sums.

import { batch } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type RangeSum, sumsIn } from "../../analysis/range_sums.ts";
import { share, shortTime } from "../../lib/format.ts";
import { type Details, detailsOf, type FactLink, linksOf, rangeText } from "./details.ts";
import type { TimelineState } from "./state.ts";

const DISTANCE = 12;

/**
 * A card of text above everything else, so that neither widget nor notebook cuts it off; the pointer goes through it. It
 * stands beside the pointer and within the height of the lanes, so that it covers no control.
 */
export function DetailsCard({ state }: { readonly state: TimelineState }) {
  const card = useRef<HTMLDivElement>(null);
  const { hovered, pointed } = state;
  const details = hovered.value && detailsOf(state, hovered.value);
  const isShown = details !== null;
  useLayoutEffect(() => {
    if (isShown) card.current?.showPopover?.();
  }, [isShown]);
  const { x, y } = pointed.value;
  useLayoutEffect(() => {
    const own = card.current;
    const lanes = own?.parentElement?.getBoundingClientRect();
    if (!own || !lanes) return;
    const lowest = Math.min(lanes.bottom, innerHeight) - own.offsetHeight;
    own.style.top = `${Math.max(lanes.top, Math.min(y + DISTANCE, lowest))}px`;
  });
  if (!details) return null;
  const width = document.documentElement.clientWidth;
  const side = x > width / 2 ? { right: `${width - x + DISTANCE}px` } : { left: `${x + DISTANCE}px` };
  return (
    <div ref={card} class="card" popover="manual" aria-hidden="true" style={side}>
      <b>{details.name}</b>
      <dl>
        {details.facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** What is known of the slice that is chosen, each fact with the way to where more is told of it. */
export function ChosenSlice({ state }: { readonly state: TimelineState }) {
  const current = state.current.value;
  const details: Details | null = current && detailsOf(state, current);
  if (!current || !details) return null;
  const links = linksOf(state, current);
  return (
    <>
      <b>
        <Linked state={state} link={links.get("")} text={details.name} />
      </b>
      <dl aria-label="details">
        {details.facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <Linked state={state} link={links.get(label)} text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

interface LinkedProps {
  readonly state: TimelineState;
  readonly link: FactLink | undefined;
  readonly text: string;
}

/** A text, and if it leads somewhere a button that goes there. */
function Linked({ state: { store }, link, text }: LinkedProps) {
  if (!link) return <>{text}</>;
  return (
    <button
      type="button"
      class="link"
      title={`show in ${link.tab}`}
      onClick={() =>
        batch(() => {
          store.selection.value = [link.name];
          store.tab.value = link.tab;
        })
      }
    >
      {text}
    </button>
  );
}

const MOST_SUMS = 6;

/** How long the marked range is, what each device did in it, and its sums once the pointer has let go of it. */
export function MarkedRange({ state }: { readonly state: TimelineState }) {
  const range = state.range.value;
  if (!range) return null;
  const { from, to } = range;
  const sums = state.isMarking.value
    ? null
    : sumsIn(state.profile.value, state.slices.value, state.layout.value, from, to);
  return (
    <>
      <p>
        <b>{shortTime((to - from) / 1000)} marked</b>
        {state.usesOf(range).map((use) => (
          <span key={use.device}>
            {state.deviceName(use.device)}: {rangeText(use)}
          </span>
        ))}
      </p>
      {sums && (
        <div class="sums">
          {Object.entries(sums).map(([kind, rows]) => (
            <SumsTable key={kind} kind={kind} rows={rows} />
          ))}
        </div>
      )}
    </>
  );
}

/** The largest sums of a kind, and what the others are together. */
function SumsTable({ kind, rows }: { readonly kind: string; readonly rows: readonly RangeSum[] }) {
  const whole = rows.reduce((sum, { nanos }) => sum + nanos, 0);
  const others = rows.slice(MOST_SUMS);
  const rest = {
    name: `${others.length} more`,
    nanos: others.reduce((sum, { nanos }) => sum + nanos, 0),
    count: others.reduce((sum, { count }) => sum + count, 0),
  };
  if (!rows.length) return null;
  return (
    <table class="figures" aria-label={`marked, by ${kind}`}>
      <thead>
        <tr>
          <th scope="col">{kind}</th>
          <th scope="col">time</th>
          <th scope="col">share</th>
          <th scope="col">ops</th>
        </tr>
      </thead>
      <tbody>
        {[...rows.slice(0, MOST_SUMS), ...(others.length ? [rest] : [])].map(({ name, nanos, count }) => (
          <tr key={name}>
            <th scope="row" title={name}>
              {name}
            </th>
            <td>{shortTime(nanos / 1000)}</td>
            <td>{share(nanos, whole)}</td>
            <td>{count.toLocaleString("en")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
