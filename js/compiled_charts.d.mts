export function compiledCharts(specifications: {
  readonly page: Readonly<Record<string, unknown>>;
  readonly alone: Readonly<Record<string, unknown>>;
  readonly themes: object;
}): typeof COMPILED_CHARTS;
