// The options that the panel of filters shows first; all others are one click away.

import { optionNamed } from "../ui/fields.tsx";

export const THRESHOLDS = ["min_micros", "min_bytes", "min_float_ops"].map(optionNamed);
export const DEPTH = optionNamed("max_depth");
export const ORDER = optionNamed("order_by");
export const REGEXES = [
  ["Names (regex)", ["show_name_regexes", "hide_name_regexes", "start_name_regexes", "trim_name_regexes"]],
  ["Types, devices, runs (regex)", ["account_type_regexes", "device_regexes", "run_name_regexes"]],
] as const;
