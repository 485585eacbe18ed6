// Boxes, lines and texts, painted on a canvas or written as SVG.

/** A line from point to point: `M` begins it, `L` is straight, `C` has two handles before its end. */
export type RouteStep = readonly ["M" | "L" | "C", ...number[]];
export type Route = readonly RouteStep[];

interface Look {
  readonly fill?: string;
  readonly stroke?: string;
  readonly lineWidth?: number;
  readonly dash?: readonly number[];
  readonly opacity?: number;
}

/** Something to paint, in pixels. */
export type Shape = Look &
  (
    | {
        readonly kind: "box";
        readonly x: number;
        readonly y: number;
        readonly width: number;
        readonly height: number;
        readonly radius: number;
      }
    | { readonly kind: "line"; readonly route: Route }
    | {
        readonly kind: "text";
        readonly x: number;
        readonly y: number;
        readonly text: string;
        readonly size: number;
        readonly isBold?: boolean;
        readonly anchor: "start" | "middle" | "end";
      }
  );

/** Paint the shapes, the first one lowest. */
export function paintShapes(context: CanvasRenderingContext2D, shapes: Iterable<Shape>, font: string): void {
  for (const shape of shapes) {
    context.globalAlpha = shape.opacity ?? 1;
    if (shape.kind === "text") {
      context.font = `${shape.isBold ? "600 " : ""}${shape.size}px ${font}`;
      context.textAlign = shape.anchor === "middle" ? "center" : shape.anchor;
      context.fillStyle = shape.fill ?? "#000000";
      context.fillText(shape.text, shape.x, shape.y);
      continue;
    }
    context.beginPath();
    if (shape.kind === "box") context.roundRect(shape.x, shape.y, shape.width, shape.height, shape.radius);
    else follow(context, shape.route);
    if (shape.fill) {
      context.fillStyle = shape.fill;
      context.fill();
    }
    if (shape.stroke) {
      context.strokeStyle = shape.stroke;
      context.lineWidth = shape.lineWidth ?? 1;
      context.setLineDash([...(shape.dash ?? [])]);
      context.stroke();
    }
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
}

function follow(context: CanvasRenderingContext2D, route: Route): void {
  for (const [step, ...at] of route) {
    if (step === "M") context.moveTo(...(at as [number, number]));
    else if (step === "L") context.lineTo(...(at as [number, number]));
    else context.bezierCurveTo(...(at as [number, number, number, number, number, number]));
  }
}

/** The shapes as SVG; `title` is what a screen reader says of it. */
export function svgOfShapes(
  shapes: Iterable<Shape>,
  {
    width,
    height,
    font,
    title,
  }: Readonly<Record<"width" | "height", number>> & { font: string; title: string },
): string {
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const parts = Array.from(shapes, (shape) => `${elementOf(shape)}\n`);
  const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${inXml(font)}" role="img">`;
  return `${head}\n<title>${inXml(title)}</title>\n${parts.join("")}</svg>\n`;
}

function elementOf(shape: Shape): string {
  const look = [
    ["fill", shape.fill ?? "none"],
    ["stroke", shape.stroke],
    ["stroke-width", shape.stroke && shape.lineWidth],
    ["stroke-dasharray", shape.dash?.join(" ")],
    ["opacity", shape.opacity],
  ];
  if (shape.kind === "box") {
    const { x, y, width, height, radius } = shape;
    return `<rect ${written([["x", x], ["y", y], ["width", width], ["height", height], ["rx", radius], ...look])}/>`;
  }
  if (shape.kind === "line") {
    const path = shape.route.map(([step, ...at]) => step + at.map(short).join(" ")).join("");
    return `<path ${written([["d", path], ...look])}/>`;
  }
  const { x, y, size, isBold, anchor, text } = shape;
  const font = [
    ["x", x],
    ["y", y],
    ["font-size", size],
    ["font-weight", isBold ? 600 : undefined],
    ["text-anchor", anchor === "start" ? undefined : anchor],
  ];
  return `<text ${written([...font, ...look])}>${inXml(text)}</text>`;
}

function written(attributes: readonly (readonly (string | number | undefined)[])[]): string {
  return attributes
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${name}="${typeof value === "number" ? short(value) : inXml(String(value))}"`)
    .join(" ");
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function inXml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
