// Own values and totals of the places of a tree, and the order that they give.

import type { Order, ViewName } from "../data/protocol.ts";
import type { Forest } from "./account.ts";
import { countedUp, type Indices, type Numbers } from "./columns.ts";
import { checkSize, isMeasure, isPass, type Measures, type Summed } from "./measures.ts";
import { ordered, sortByKey } from "./order.ts";

/** The measures of a forest in one step and clock; each column is made when it is first asked for. */
export class Sums {
  readonly #owns = new Map<Summed, Numbers>();
  readonly #totals = new Map<Summed, Numbers>();
  readonly #sequences = new Map<Order, Indices>();
  readonly #orders = new Map<Order, Indices>();

  constructor(
    readonly forest: Forest,
    readonly measures: Measures,
  ) {}

  /** The measure of the graph nodes of each place itself. */
  own(measure: Summed): Numbers {
    return made(this.#owns, measure, () => this.#computeOwn(measure));
  }

  /** The measure of all graph nodes in the subtree of each place. */
  total(measure: Summed): Numbers {
    return made(this.#totals, measure, () => {
      const total = this.own(measure).slice();
      const { parent } = this.forest.tree;
      for (let place = total.length - 1; place > 0; place--) {
        const above = parent[place] as number;
        total[above] = (total[above] as number) + (total[place] as number);
      }
      return total;
    });
  }

  /** All places in the order to show them. */
  order(orderBy: Order, view: ViewName): Indices {
    return made(this.#orders, orderBy, () => ordered(this.sequence(orderBy, view), this.forest.tree.parent));
  }

  /** The measure that rows are ordered by: the time where passes are not told apart; none by name, for instance. */
  ordering(orderBy: Order): Summed | undefined {
    if (isPass(orderBy)) return this.measures.columns[orderBy] ? orderBy : "micros";
    return isMeasure(orderBy) ? orderBy : undefined;
  }

  /** All places by what siblings are sorted by. */
  sequence(orderBy: Order, view: ViewName): Indices {
    return made(this.#sequences, orderBy, () =>
      sortByKey(countedUp(this.forest.tree.size), this.#key(orderBy, view)),
    );
  }

  #key(orderBy: Order, view: ViewName): Numbers | Indices {
    const { tree } = this.forest;
    const measure = this.ordering(orderBy);
    if (measure) return this.total(measure).map((value) => -value);
    if (orderBy === "occurrence" && view === "code") return tree.rowCount.map((count) => -count);
    return tree.nameRank;
  }

  #computeOwn(measure: Summed): Numbers {
    const { tree, weight } = this.forest;
    const column = this.measures.column(measure);
    const own = new Float64Array(tree.size);
    let size = 0;
    for (let place = 0; place < own.length; place++) {
      const last = tree.rowStart[place + 1] as number;
      let sum = 0;
      for (let row = tree.rowStart[place] as number; row < last; row++) {
        const value = (column[tree.rows[row] as number] as number) * (weight[row] as number);
        sum += value;
        size += Math.abs(value);
      }
      own[place] = sum;
    }
    checkSize(measure, size); // native counts some nodes several times
    return own;
  }
}

function made<Key, Found>(known: Map<Key, Found>, key: Key, make: () => Found): Found {
  const found = known.get(key) ?? make();
  known.set(key, found);
  return found;
}
