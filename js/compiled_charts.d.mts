export function compiledCharts(specifications: Readonly<Record<string, unknown>>): Record<string, object>;
