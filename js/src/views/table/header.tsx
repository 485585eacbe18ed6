// The head of the table: what the columns are, the buttons that order by them, and the ones that fold.

// biome-ignore-all lint/a11y/useSemanticElements: rows far down are not in the page, and a table element would lay out those that are
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus and names the active row, for the rows come and go

import type { Order } from "../../data/protocol.ts";
import { EVERYTHING, type Rule, TELLING } from "../../state/folding.ts";
import type { Listing } from "../../state/listing.ts";
import type { TableState } from "../../state/table.ts";
import type { TableColumn } from "./columns.ts";

interface Props {
  readonly state: TableState;
  readonly listing: Listing;
  readonly columns: readonly TableColumn[];
}

const DEPTHS = [1, 2, 3, 4, 5, 6, 8, 10];

/** The row of headers. */
export function Header({ state, listing, columns }: Props) {
  const { orderBy } = listing.view.options;
  return (
    <div role="row" class="headers" aria-rowindex={1}>
      <div role="columnheader" class="name" aria-sort={orderBy === "name" ? "ascending" : undefined}>
        <SortButton state={state} title="name" help="order by name" order="name" orderBy={orderBy} />
        {listing.view.kind !== "op" && <Folding state={state} listing={listing} />}
      </div>
      {columns.map(({ key, title, help, order, isText }) => (
        <div
          key={key}
          role="columnheader"
          class={isText ? "cell text" : "cell"}
          aria-sort={order === orderBy ? "descending" : undefined}
        >
          {order ? (
            <SortButton state={state} title={title} help={help} order={order} orderBy={orderBy} />
          ) : (
            <span title={help}>{title}</span>
          )}
        </div>
      ))}
    </div>
  );
}

interface SortProps {
  readonly state: TableState;
  readonly title: string;
  readonly help: string;
  readonly order: Order;
  readonly orderBy: Order;
}

function SortButton({ state, title, help, order, orderBy }: SortProps) {
  const isChosen = order === orderBy;
  return (
    <button
      type="button"
      class={isChosen ? "sort chosen" : "sort"}
      title={`${help}; click to order by it`}
      onClick={() => state.store.set({ orderBy: order })}
    >
      {title}
      {isChosen && <span aria-hidden="true">{order === "name" ? " ▴" : " ▾"}</span>}
    </button>
  );
}

/** Fold all, unfold all, or unfold so far. */
function Folding({ state, listing }: { readonly state: TableState; readonly listing: Listing }) {
  const { rule } = state.reading(listing.view);
  const base = listing.top < 0 ? 0 : (listing.outline.level[listing.top] as number);
  const to = (rule: Rule) => () => state.foldBy(listing, rule);
  return (
    <span class="folding">
      <button type="button" title="fold all" aria-label="fold all" onClick={to({ level: base + 1 })}>
        −
      </button>
      <button type="button" title="unfold all" aria-label="unfold all" onClick={to(EVERYTHING)}>
        +
      </button>
      <select
        aria-label="unfold to depth"
        title="how far the tree is unfolded"
        onChange={({ currentTarget: { value } }) => state.foldBy(listing, ruleOf(value, base))}
      >
        <option value="cost" selected={"share" in rule}>
          costs ≥ 5 %
        </option>
        {DEPTHS.map((depth) => (
          <option key={depth} value={depth} selected={"level" in rule && rule.level === base + depth}>
            to depth {depth}
          </option>
        ))}
        <option value="all" selected={rule === EVERYTHING}>
          all
        </option>
      </select>
    </span>
  );
}

function ruleOf(choice: string, base: number): Rule {
  if (choice === "cost") return TELLING;
  return choice === "all" ? EVERYTHING : { level: base + Number(choice) };
}
