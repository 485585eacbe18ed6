// The layers with the time of each pass, under the three options that stand in a line above them.

import { evaluate } from "../../engine/evaluate.ts";
import { layerTypes, passOf, ROLES } from "../../engine/layers.ts";
import type { View } from "../../engine/view.ts";
import { share, shortBytes, shortCount, shortTime, shortUnits, visible } from "../../lib/format.ts";
import type { Store } from "../../state/store.ts";
import { optionNamed } from "../../ui/fields.tsx";
import { Slider } from "../../ui/slider.tsx";

const SLIDERS = ["min_micros", "min_bytes", "max_depth"].map(optionNamed);
const PASSES = ROLES.slice(0, 3);
// What has less to show than these is in the tab of layers.
const MOST_ROWS = 12;

interface LayerRow {
  readonly row: number;
  readonly name: string;
  readonly type: string;
  readonly depth: number;
  readonly micros: number;
  readonly passes: readonly number[];
  readonly bytes: number;
  readonly parameters: number;
  readonly floatOps: number;
}

/** The sliders and the layers that they leave. */
export function LayerRows({ store }: { readonly store: Store }) {
  const { problem } = store.evaluation.value;
  const view = problem ? null : layersView(store);
  return (
    <section class="layers" aria-label="layers">
      <h3 class="title">
        Layers, in the order of the model
        {PASSES.map((pass) => (
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

/** As the options have it, but in the order of the model. */
function layersView(store: Store): View | null {
  try {
    return evaluate(store.shown.profile, "layers", { ...store.options.value, orderBy: "name" });
  } catch {
    return null; // the control of the option says what is wrong with it
  }
}

function Rows({ store, view }: { readonly store: Store; readonly view: View }) {
  const all = rowsOf(view);
  const rows = costliest(all);
  const most = rows.reduce((longest, { passes }) => Math.max(longest, sum(passes)), 0);
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
                {each.floatOps ? shortUnits((1e6 * each.floatOps) / each.micros, "") : "–"}
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
  const text = PASSES.map((pass, place) => `${pass} ${shortTime(passes[place] as number)}`).join(", ");
  return (
    <span class="passes" role="img" aria-label={text} title={text}>
      {PASSES.map((pass, place) => (
        <span
          key={pass}
          data-part={pass}
          style={{ width: `${(100 * (passes[place] as number)) / (most || 1)}%` }}
        />
      ))}
    </span>
  );
}

function rowsOf(view: View): readonly LayerRow[] {
  const types = layerTypes(view);
  const unit = view.unit("micros");
  const passes = PASSES.map((pass) => passOf(view, pass));
  const [micros, bytes, parameters, floatOps] = (["micros", "bytes", "params", "float_ops"] as const).map(
    (measure) => Array.from(view.total(measure), (value) => value / view.unit(measure)),
  ) as [number[], number[], number[], number[]];
  const found: LayerRow[] = [];
  for (let row = 1; row < view.rows; row++) {
    found.push({
      row,
      name: view.name(row),
      type: types[row] === "scope" ? "" : (types[row] as string),
      depth: view.depth[row] as number,
      micros: micros[row] as number,
      passes: passes.map((pass) => (pass[row] as number) / unit),
      bytes: bytes[row] as number,
      parameters: parameters[row] as number,
      floatOps: floatOps[row] as number,
    });
  }
  return found;
}

/** The costliest rows, in the order in which they were. */
function costliest(rows: readonly LayerRow[]): readonly LayerRow[] {
  const kept = [...rows].sort((one, other) => other.micros - one.micros).slice(0, MOST_ROWS);
  return kept.sort((one, other) => one.row - other.row);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
