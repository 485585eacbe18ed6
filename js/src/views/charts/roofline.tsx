// The roofline beside a table: a dot a row, below the roof of the machine.

import { useMemo } from "preact/hooks";
import { placeOf, type Roofline, type RooflineDot } from "../../analysis/roofline.ts";
import { ROOFLINE_TITLE, SIZES } from "../../data/chart_words.ts";
import { selectionAfter } from "../../state/selection.ts";
import type { Store } from "../../state/store.ts";
import { Chart, type ChartMark } from "./chart.tsx";

// Half the side of the area around a dot that a pointer hits, in parts of the plot.
const REACH = { x: 0.014, y: 0.018 };

/** The chart, and what is said of it in its head. */
export function RooflineChart({ store, found }: { readonly store: Store; readonly found: Roofline }) {
  const { notes, ...drawn } = found;
  const data = useMemo(
    () => ({ ...drawn, dots: found.dots.map(({ row: _, lines: __, ...dot }) => dot) }),
    [found],
  );
  return (
    <section aria-label={ROOFLINE_TITLE} class="roofline">
      <header>
        <h3>{ROOFLINE_TITLE}</h3>
      </header>
      <p class="dim">{notes.join(" · ")}</p>
      <Chart
        store={store}
        spec="roofline"
        data={data}
        height={SIZES.rooflineHeight}
        label={ROOFLINE_TITLE}
        marks={found.dots.map((dot) => dotMark(dot, found, store))}
      />
    </section>
  );
}

function dotMark(dot: RooflineDot, { frame }: Roofline, store: Store): ChartMark {
  const [across, up] = placeOf(dot, frame);
  const name = store.evaluation.peek().view?.name(dot.row);
  return {
    key: `${dot.row} ${dot.name}`,
    lines: dot.lines,
    left: across - REACH.x,
    top: 1 - up - REACH.y,
    width: 2 * REACH.x,
    height: 2 * REACH.y,
    isSelected: name !== undefined && store.selection.value.includes(name),
    choose:
      name === undefined
        ? undefined
        : (adds) => {
            store.selection.value = selectionAfter(store.selection.value, name, adds);
          },
  };
}
