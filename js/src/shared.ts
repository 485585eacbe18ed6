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
import { visible, visibleLines } from "./lib/visible.ts";
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
import { treeStateOf } from "./views/tree/tree_state.ts";

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
  memoryOf,
  optionsOf,
  inputShapes,
  ROOT_NAME,
  exact,
  share,
  short,
  shortBytes,
  shortCount,
  shortTime,
  shortUnits,
  visible,
  visibleLines,
  nodesBehind,
  selectedNodes,
  METRICS,
  OPTIONS,
  isTable,
  afterPaint,
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
  treeStateOf,
};
