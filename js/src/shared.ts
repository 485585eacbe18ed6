// What js/src/pictures.ts takes from the widget instead of bundling it again, by module: js/build.mjs holds it to this list.

import { batch, computed, effect, signal, useSignal, useSignalEffect } from "@preact/signals";
import { Fragment, h } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { OWN_THRESHOLDS, THRESHOLD_OPTIONS } from "./engine/display.ts";
import { evaluate } from "./engine/evaluate.ts";
import { isMeasure, MEASURES, measures } from "./engine/measures.ts";
import { memoryOf } from "./engine/memory.ts";
import { optionsOf } from "./engine/options.ts";
import { inputShapes } from "./engine/shapes.ts";
import { chosenSteps } from "./engine/steps.ts";
import { Sums } from "./engine/sums.ts";
import { ROOT_NAME } from "./engine/tree.ts";
import { exactly } from "./lib/exactly.ts";
import { joinRegexes } from "./lib/regex_list.ts";
import { exact, share, short, shortBytes, shortCount, shortTime, shortUnits } from "./lib/short.ts";
import { spoken, unitOf } from "./lib/typed_number.ts";
import { visible, visibleLines } from "./lib/visible.ts";
import { nodesBehind, selectedNodes } from "./linking.ts";
import { METRICS, OPTIONS, VIEWS } from "./protocol.ts";
import { isTable } from "./store.ts";
import { afterPaint } from "./ui/after_paint.ts";
import { changedOptions } from "./ui/changed_options.ts";
import { Choice } from "./ui/choice.tsx";
import { Group } from "./ui/group.tsx";
import { Skeleton } from "./ui/lazy.tsx";
import { useLimits } from "./ui/limits.ts";
import { NumberBox } from "./ui/number_box.tsx";
import { change, described, optionNamed, useOption } from "./ui/option_state.ts";
import { RegexBox } from "./ui/regex_box.tsx";
import { DEPTH, ORDER, REGEXES, THRESHOLDS } from "./ui/usual_options.ts";
import { frameNamed, ownFrame, stackOf } from "./views/frames.ts";
import { deviceLabel, placeLabel } from "./views/timeline/device_label.ts";
import { activePosition } from "./views/tree/keys.ts";
import { treeStateOf } from "./views/tree/tree_state.ts";
import { hasSeveralWorkers } from "./workers.ts";

export const SHARED = {
  batch,
  computed,
  effect,
  signal,
  useSignal,
  useSignalEffect,
  Fragment,
  h,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  OWN_THRESHOLDS,
  THRESHOLD_OPTIONS,
  evaluate,
  chosenSteps,
  isMeasure,
  MEASURES,
  measures,
  memoryOf,
  optionsOf,
  inputShapes,
  Sums,
  ROOT_NAME,
  exactly,
  joinRegexes,
  exact,
  share,
  short,
  shortBytes,
  shortCount,
  shortTime,
  shortUnits,
  spoken,
  unitOf,
  visible,
  visibleLines,
  nodesBehind,
  selectedNodes,
  METRICS,
  OPTIONS,
  VIEWS,
  isTable,
  afterPaint,
  changedOptions,
  Choice,
  Group,
  Skeleton,
  useLimits,
  NumberBox,
  change,
  described,
  optionNamed,
  useOption,
  RegexBox,
  DEPTH,
  ORDER,
  REGEXES,
  THRESHOLDS,
  frameNamed,
  ownFrame,
  stackOf,
  deviceLabel,
  placeLabel,
  activePosition,
  treeStateOf,
  hasSeveralWorkers,
};
