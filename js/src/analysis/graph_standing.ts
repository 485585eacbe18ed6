// The picture of a graph as it stands alone in a file: with title, caption and legend.

import { SIZES } from "../data/chart_words.ts";
import type { Shape } from "../lib/shapes.ts";
import {
  DETAIL,
  type GraphColours,
  graphShapes,
  LEGEND_STEPS,
  mixed,
  mostOf,
  SMALL_LETTER,
  strengthOf,
  TITLE,
  textShape,
} from "./graph_drawing.ts";
import type { Scene } from "./graph_scene.ts";
import { amountOf, type GraphLook } from "./graph_words.ts";

const MARGIN = 12;

/** A picture that stands alone, with its title, caption and legend around it. */
export function standingGraph(
  scene: Scene,
  look: GraphLook,
  colours: GraphColours,
  { title, subtitle }: Readonly<Record<"title" | "subtitle", readonly string[]>>,
): { readonly shapes: readonly Shape[]; readonly width: number; readonly height: number } {
  const width = Math.ceil(Math.max(scene.width + 2 * MARGIN, SIZES.width));
  const lines = [...title, ...subtitle];
  const top = MARGIN + lines.length * SIZES.lineHeight + MARGIN;
  const height = Math.ceil(top + scene.height + 4 * MARGIN);
  const heads = lines.map((line, at) =>
    textShape(
      MARGIN,
      MARGIN + (at + 0.75) * SIZES.lineHeight,
      line,
      at < title.length ? colours.text : colours.dim,
      {
        anchor: "start",
        ...(at < title.length ? { isBold: true, size: TITLE + 1 } : { size: DETAIL }),
      },
    ),
  );
  const unmarked = { ...look, cursor: -1, hovered: -1, found: null, selected: look.selected.map(() => 0) };
  const left = (width - scene.width) / 2;
  const drawn = graphShapes(scene, unmarked, colours).map((shape) => shifted(shape, left, top));
  return {
    shapes: [
      { kind: "box", x: 0, y: 0, width, height, radius: 0, fill: colours.surface },
      ...heads,
      ...drawn,
      ...legendShapes(scene, look, colours, height - MARGIN),
    ],
    width,
    height,
  };
}

function legendShapes(
  scene: Scene,
  look: GraphLook,
  colours: GraphColours,
  bottom: number,
): readonly Shape[] {
  const most = mostOf(scene, look.values);
  if (!most) return [];
  let left = MARGIN;
  return LEGEND_STEPS.flatMap((part): Shape[] => {
    const words = amountOf(part * most, look.fill);
    const [x, fill] = [left, mixed(colours.surface, colours.fill, strengthOf(part))];
    left += 40 + SMALL_LETTER * words.length;
    return [
      {
        kind: "box",
        x,
        y: bottom - 11,
        width: 12,
        height: 12,
        radius: 2,
        fill,
        stroke: colours.dim,
        lineWidth: 0.75,
      },
      textShape(x + 17, bottom - 1, words, colours.dim, { size: DETAIL, anchor: "start" }),
    ];
  });
}

function shifted(shape: Shape, left: number, top: number): Shape {
  if (shape.kind !== "line") return { ...shape, x: shape.x + left, y: shape.y + top };
  return {
    ...shape,
    route: shape.route.map(([step, ...at]) => [
      step,
      ...at.map((each, index) => each + (index % 2 ? top : left)),
    ]),
  };
}
