// The advice as a picture: what each checker found, and what to do, line by line.

import { ADVICE_TITLE, SIZES } from "../data/chart_words.ts";
import type { Advice, Finding } from "../data/graphs.ts";
import { visible } from "../lib/format.ts";
import { type ChartContent, type ChartKind, type ChartSubject, wrapped } from "./chart_content.ts";

/** The reports of the checkers that have some; what there is to change comes before what costs most. */
export function toldAdvice(advice: readonly Advice[]): readonly Advice[] {
  const isText = ({ reports }: Advice): number => Number(typeof reports[0] === "string");
  return advice.filter(({ reports }) => reports.length > 0).sort((one, other) => isText(one) - isText(other));
}

interface AdviceLine {
  readonly text: string;
  readonly tone: "title" | "cause" | "fix";
  readonly indent: number;
}

function contentOf({ graph, width }: ChartSubject): ChartContent {
  const letters = Math.floor((width - 2 * SIZES.margin) / SIZES.letter);
  const lines = toldAdvice(graph.advice).flatMap(({ title, reports }, place) => [
    ...(place ? [lineOf("", "title")] : []),
    lineOf(title, "title"),
    ...reports.flatMap((report) =>
      typeof report === "string" ? reportLines(report, letters) : findingLines(report, letters),
    ),
  ]);
  if (!lines.length) throw new Error("the checkers found nothing");
  const shown = lines.slice(0, SIZES.mostLines).map((line, place) => ({ line: place, ...line }));
  const toned = (tone: AdviceLine["tone"]) => shown.filter((line) => line.tone === tone);
  return {
    spec: "advice",
    data: { title: toned("title"), cause: toned("cause"), fix: toned("fix") },
    height: SIZES.lineHeight * shown.length,
    title: ADVICE_TITLE,
    signals: { lines: shown.length },
    notes: shown.length < lines.length ? [`the first ${shown.length} of ${lines.length} lines`] : [],
    of: "told",
  };
}

function findingLines({ cause, fix }: Finding, letters: number): AdviceLine[] {
  return [
    ...wrapped(visible(cause), letters).map((line) => lineOf(line, "cause")),
    ...wrapped(visible(fix), letters).map((line) => lineOf(line, "fix")),
  ];
}

function reportLines(text: string, letters: number): AdviceLine[] {
  return text
    .split("\n")
    .filter((each) => each.trim())
    .flatMap((each) => {
      const indent = each.length - each.trimStart().length;
      return wrapped(visible(each.trim()), letters - indent).map((line) => lineOf(line, "cause", indent));
    });
}

function lineOf(text: string, tone: AdviceLine["tone"], indent = 0): AdviceLine {
  return { text, tone, indent: indent * SIZES.indent };
}

/** The advice. */
export const ADVICE: ChartKind = { name: "advice", content: contentOf };
