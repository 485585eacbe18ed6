// The picture of the graph as SVG or PNG: the boxes that are open now, in the light colours of paper.

import { standing } from "../analysis/chart_content.ts";
import { graphColours } from "../analysis/graph_drawing.ts";
import { standingGraph } from "../analysis/graph_standing.ts";
import { SIZES } from "../data/chart_words.ts";
import { paintShapes, svgOfShapes } from "../lib/shapes.ts";
import { inLightTheme, tokensOf } from "../lib/tokens.ts";
import { graphPictureOf } from "../state/graph_picture.ts";
import type { Store } from "../state/store.ts";
import { subjectOf, withResolution } from "./pictures.ts";

const FONT = "system-ui, sans-serif";

/** The picture as SVG; `within` is an element of the widget, which has the colours. */
export async function graphSvg(store: Store, within: Element): Promise<Blob> {
  const { shapes, width, height, title } = drawingOf(store, within);
  return new Blob([svgOfShapes(shapes, { width, height, font: FONT, title })], { type: "image/svg+xml" });
}

/** The picture as PNG, which says how large it is to be printed. */
export async function graphPng(store: Store, within: Element): Promise<Blob> {
  const { shapes, width, height } = drawingOf(store, within);
  const canvas = within.ownerDocument.createElement("canvas");
  canvas.width = width * SIZES.dotsAPixel;
  canvas.height = height * SIZES.dotsAPixel;
  const context = canvas.getContext("2d");
  context?.scale(SIZES.dotsAPixel, SIZES.dotsAPixel);
  if (context) paintShapes(context, shapes, FONT);
  const picture = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!context || !picture) throw new Error("the browser cannot paint a picture so large; close some boxes");
  const bytes = withResolution(
    new Uint8Array(await picture.arrayBuffer()),
    SIZES.dotsAPixel * SIZES.pixelsAnInch,
  );
  return new Blob([bytes as BlobPart], { type: "image/png" });
}

function drawingOf(store: Store, within: Element) {
  const state = graphPictureOf(store);
  const [scene, look] = [state.scene.peek(), state.look.peek()];
  const subject = subjectOf(store);
  const content = { spec: "", data: {}, height: scene.height, of: "mean" as const };
  const named = `Graph, boxes filled by ${look.fill}`;
  const words = subject
    ? standing({ ...content, title: named }, { ...subject, width: Math.max(scene.width, SIZES.width) })
    : { title: [named], subtitle: [] };
  const colours = inLightTheme(within, () => graphColours(tokensOf(within)));
  return { ...standingGraph(scene, look, colours, words), title: words.title.join(" ") };
}
