// Keeps the canvas of the picture of the graph painted.

import { effect } from "@preact/signals";
import { type GraphColours, graphColours, graphShapes } from "../../analysis/graph_drawing.ts";
import { paintShapes, type Shape } from "../../lib/shapes.ts";
import { inLightTheme, tokensOf } from "../../lib/tokens.ts";
import type { Camera, GraphPicture } from "../../state/graph_picture.ts";
import { onAppearance, oncePerFrame, onPrint, resize } from "../../ui/canvas.ts";
import { fittedCamera } from "./graph_actions.ts";

const PAPER_WIDTH = 660;
const PAPER_RATIO = 2;

/** The colours that hold for an element; in forced colours those of the system. */
function coloursFor(element: Element): GraphColours {
  return graphColours(tokensOf(element), matchMedia("(forced-colors: active)").matches);
}

/** Keep the picture painted; returns what ends this. */
export function paintGraph(state: GraphPicture, sheet: HTMLElement, canvas: HTMLCanvasElement): () => void {
  const context = canvas.getContext("2d", { alpha: false });
  if (!context) return () => {};
  let colours: GraphColours | null = null;
  let font = "";
  let shapes: readonly Shape[] | null = null;
  const paint = (
    size: { width: number; height: number; ratio: number },
    camera: Camera,
    now: GraphColours,
  ): void => {
    const { width, height, ratio } = size;
    resize(canvas, width, height, ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = now.surface;
    context.fillRect(0, 0, width, height);
    const scale = ratio * camera.scale;
    context.setTransform(scale, 0, 0, scale, -camera.x * scale, -camera.y * scale);
    paintShapes(context, shapes ?? graphShapes(state.scene.peek(), state.look.peek(), now), font);
  };
  const painting = oncePerFrame(() => {
    const { clientWidth: width, clientHeight: height } = sheet;
    if (!width || !height) return;
    colours ??= coloursFor(canvas);
    font ||= getComputedStyle(canvas).fontFamily;
    shapes ??= graphShapes(state.scene.peek(), state.look.peek(), colours);
    const ratio = sheet.ownerDocument.defaultView?.devicePixelRatio ?? 1;
    paint({ width, height, ratio }, state.camera.peek() ?? fittedCamera(state, { width, height }), colours);
  });
  const repaint = (): void => {
    shapes = colours = null;
    painting.ask();
  };
  const unfollow = onAppearance(sheet, repaint);
  const unprint = onPrint(() => {
    const scene = state.scene.peek();
    const scale = Math.min(PAPER_WIDTH / scene.width, 1);
    shapes = null;
    const size = { width: PAPER_WIDTH, height: Math.ceil(scene.height * scale) + 2, ratio: PAPER_RATIO };
    paint(
      size,
      { x: 0, y: -1, scale },
      inLightTheme(canvas, () => graphColours(tokensOf(canvas))),
    );
  }, repaint);
  const end = effect(() => {
    void state.scene.value;
    void state.look.value;
    shapes = null;
    painting.ask();
  });
  const endCamera = effect(() => {
    void state.camera.value;
    painting.ask();
  });
  return () => {
    end();
    endCamera();
    unfollow();
    unprint();
    painting.cancel();
  };
}
