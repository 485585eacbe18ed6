// The charts that can stand alone, by the names and in the order of tfprof_widget/charts/kinds.py.

import { ADVICE } from "./advice_chart.ts";
import type { ChartKind } from "./chart_content.ts";
import { SCOPES, STEPS } from "./chart_rows.ts";
import { OP_TYPES } from "./costs.ts";
import { MEMORY } from "./memory.ts";
import { TIMELINE } from "./timeline_chart.ts";
import { WORKERS } from "./workers_chart.ts";

export const CHARTS: readonly ChartKind[] = [OP_TYPES, SCOPES, STEPS, MEMORY, TIMELINE, WORKERS, ADVICE];
