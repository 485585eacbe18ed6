// The layers with the time of each pass, under the three options that stand in a line above them.

import { costliest, layerRows, layersInOrder, longestPasses, PASS_NAMES } from "../../analysis/layer_rows.ts";
import type { View } from "../../engine/view.ts";
import { share, shortBytes, shortCount, shortTime, shortUnits, visible } from "../../lib/format.ts";
import type { Store } from "../../state/store.ts";
import { optionNamed } from "../../ui/fields.tsx";
import { Slider } from "../../ui/slider.tsx";

const SLIDERS = ["min_micros", "min_bytes", "max_depth"].map(optionNamed);

/** The sliders and the layers that they leave. */
export function LayerRows({ store }: { readonly store: Store }) {
  const { problem } = store.evaluation.value;
  const view = problem ? null : layersInOrder(store.shown.profile, store.options.value);
  return (
    <section class="layers" aria-label="layers">
      <h3 class="title">
        Layers, in the order of the model
        {PASS_NAMES.map((pass) => (
          <span key={pass} class="key" data-part={pass}>
            {pass}
          </span>
        ))}
      </h3>
      <div class="sliders fields">
        {SLIDERS.map((option) => (
          <Slider key={option.name} store={store} option={option} />
        ))}
      </div>
      {view ? <Rows store={store} view={view} /> : <p class="dim">{problem?.reason}</p>}
    </section>
  );
}

function Rows({ store, view }: { readonly store: Store; readonly view: View }) {
  const all = layerRows(view);
  const rows = costliest(all);
  const most = longestPasses(rows);
  const whole = view.grandTotal("micros") / view.unit("micros");
  const look = (name?: string) => {
    if (name) store.selection.value = [name];
    store.tab.value = "layers";
  };
  if (!all.length) return <p class="dim">No layer is left: move a slider back.</p>;
  return (
    <>
      <table class="figures">
        <caption>Layers with the time of each pass</caption>
        <thead>
          <tr>
            <th scope="col">layer</th>
            <th scope="col">passes</th>
            <th scope="col">time</th>
            <th scope="col" title="of the time of all ops of a step">
              share
            </th>
            <th scope="col" class="wider">
              memory
            </th>
            <th scope="col" class="wider">
              params
            </th>
            <th scope="col" class="wider">
              FLOP/s
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((each) => (
            <tr key={each.row}>
              <th scope="row" style={{ paddingInlineStart: `${12 * (each.depth - 1)}px` }}>
                <button type="button" title="Show it in the table of layers" onClick={() => look(each.name)}>
                  {visible(each.name)}
                </button>{" "}
                <span class="dim">{visible(each.type)}</span>
              </th>
              <td>
                <Passes passes={each.passes} most={most} />
              </td>
              <td>{shortTime(each.micros)}</td>
              <td class="dim">{share(each.micros, whole)}</td>
              <td class="wider">{each.bytes ? shortBytes(each.bytes) : "–"}</td>
              <td class="wider">{each.parameters ? shortCount(each.parameters) : "–"}</td>
              <td class="wider">
                {each.floatOps && each.micros ? shortUnits((1e6 * each.floatOps) / each.micros, "") : "–"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {all.length > rows.length && (
        <button type="button" class="link" onClick={() => look()}>
          all {all.length.toLocaleString("en")} rows in layers
        </button>
      )}
    </>
  );
}

/** The time of each pass as a bar, by the longest of all layers. */
function Passes({ passes, most }: { readonly passes: readonly number[]; readonly most: number }) {
  const text = PASS_NAMES.map((pass, place) => `${pass} ${shortTime(passes[place] as number)}`).join(", ");
  return (
    <span class="passes" role="img" aria-label={text} title={text}>
      {PASS_NAMES.map((pass, place) => (
        <span
          key={pass}
          data-part={pass}
          style={{ width: `${(100 * (passes[place] as number)) / (most || 1)}%` }}
        />
      ))}
    </span>
  );
}
