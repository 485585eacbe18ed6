// What js/src/pictures.ts takes from the widget instead of bundling it again, by module: js/build.mjs holds it to this list.

import { batch, computed, effect, signal, useSignal, useSignalEffect } from "@preact/signals";
import { Fragment, h } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { OWN_THRESHOLDS, THRESHOLD_OPTIONS } from "./engine/display.ts";
import { evaluate } from "./engine/evaluate.ts";
import { chosenSteps, isMeasure, MEASURES } from "./engine/measures.ts";
import { memoryOf } from "./engine/memory.ts";
import { optionsOf } from "./engine/options.ts";
import { inputShapes } from "./engine/shapes.ts";
import { ROOT_NAME } from "./engine/tree.ts";
import { exact, share, short, shortBytes, shortCount, shortTime, shortUnits } from "./lib/short.ts";
import { nodesBehind, selectedNodes } from "./linking.ts";
import { METRICS, OPTIONS } from "./protocol.ts";
import { isTable } from "./store.ts";
import { afterPaint } from "./ui/after_paint.ts";
import { Choice } from "./ui/choice.tsx";
import { Group } from "./ui/group.tsx";
import { Skeleton } from "./ui/lazy.tsx";
import { useLimits } from "./ui/limits.ts";
import { NumberBox } from "./ui/number_box.tsx";
import { change, described, optionNamed, useOption } from "./ui/option_state.ts";
import { RegexBox } from "./ui/regex_box.tsx";
import { DEPTH, ORDER, REGEXES, THRESHOLDS } from "./ui/usual_options.ts";
import { frameNamed, ownFrame, stackOf } from "./views/frames.ts";
import { deviceLabel } from "./views/timeline/device_label.ts";

export const SHARED = {
  "@preact/signals": { batch, computed, effect, signal, useSignal, useSignalEffect },
  "preact/hooks": { useEffect, useLayoutEffect, useMemo, useRef, useState },
  preact: { Fragment, h },
  "engine/display.ts": { OWN_THRESHOLDS, THRESHOLD_OPTIONS },
  "engine/evaluate.ts": { evaluate },
  "engine/measures.ts": { isMeasure, MEASURES, chosenSteps },
  "engine/memory.ts": { memoryOf },
  "engine/options.ts": { optionsOf },
  "engine/shapes.ts": { inputShapes },
  "engine/tree.ts": { ROOT_NAME },
  "lib/short.ts": { exact, share, short, shortBytes, shortCount, shortTime, shortUnits },
  "linking.ts": { nodesBehind, selectedNodes },
  "protocol.ts": { METRICS, OPTIONS },
  "store.ts": { isTable },
  "ui/after_paint.ts": { afterPaint },
  "ui/choice.tsx": { Choice },
  "ui/group.tsx": { Group },
  "ui/lazy.tsx": { Skeleton },
  "ui/limits.ts": { useLimits },
  "ui/number_box.tsx": { NumberBox },
  "ui/option_state.ts": { change, described, optionNamed, useOption },
  "ui/regex_box.tsx": { RegexBox },
  "ui/usual_options.ts": { DEPTH, ORDER, REGEXES, THRESHOLDS },
  "views/frames.ts": { frameNamed, ownFrame, stackOf },
  "views/timeline/device_label.ts": { deviceLabel },
};
