"""Finds what in a trace is against the Trace Event Format, as its public description has it, or would not be shown."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

Event = dict[str, Any]

METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}
KEYS = {
    "M": {"name", "ph", "pid", "tid", "args"},
    "X": {"name", "cat", "ph", "pid", "tid", "ts", "dur", "args"},
    "C": {"name", "ph", "pid", "tid", "ts", "args"},
    "s": {"name", "cat", "id", "ph", "pid", "tid", "ts"},
    "f": {"name", "cat", "id", "ph", "pid", "tid", "ts", "bp"},
}
# Of times in microseconds, which are whole nanoseconds written as fractions.
ROUNDING = 1e-5


def read_trace(content: bytes) -> list[Event]:
    """The events of a trace, which has to be as the format wants it."""
    trace = json.loads(content, parse_constant=lambda name: f"not JSON: {name}")
    assert not list(faults(trace)), next(faults(trace))
    events: list[Event] = trace["traceEvents"]
    return events


def slices_by_thread(events: list[Event]) -> dict[tuple[int, int], list[Event]]:
    """The complete events of each thread, by start, those around others first."""
    found: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            found[event["pid"], event["tid"]].append(event)
    return {thread: sorted(slices, key=lambda each: (each["ts"], -each["dur"])) for thread, slices in found.items()}


def faults(trace: Any) -> Iterator[str]:
    """What is wrong, in words."""
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        yield "the trace is no object with a list of traceEvents"
        return
    if trace.get("displayTimeUnit") not in ("ms", "ns"):
        yield f"displayTimeUnit is {trace.get('displayTimeUnit')!r}"
    wrong = [fault for event in trace["traceEvents"] for fault in _event_faults(event)]
    yield from wrong
    if wrong:
        return
    events: list[Event] = trace["traceEvents"]
    yield from _nameless(events)
    yield from _crossing(events)
    yield from _loose_flows(events)


def _event_faults(event: Any) -> Iterator[str]:
    phase = event.get("ph") if isinstance(event, dict) else None
    if phase not in KEYS:
        yield f"{event!r} is no event of a known phase"
        return
    if set(event) != KEYS[phase]:
        yield f"{event!r} has not the keys {sorted(KEYS[phase])}"
        return
    if not isinstance(event["name"], str) or not isinstance(event.get("cat", ""), str):
        yield f"{event!r}: name and cat are texts"
    if not all(type(event[key]) is int and event[key] > 0 for key in ("pid", "tid")):
        yield f"{event!r}: pid and tid are whole numbers, and 0 is the kernel's in Perfetto"
    for key in {"ts", "dur"} & set(event):
        if not _is_number(event[key]) or event[key] < 0:
            yield f"{event!r}: {key} is no time"
    if phase == "M":
        key, kind = METADATA.get(event["name"], ("", str))
        if not isinstance(event["args"].get(key), kind):
            yield f"{event!r} names nothing"
    if phase == "C" and not (event["args"] and all(map(_is_number, event["args"].values()))):
        yield f"{event!r} counts nothing"
    if phase == "f" and event["bp"] != "e":
        yield f"{event!r}: bp can only be e"


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _nameless(events: list[Event]) -> Iterator[str]:
    named = {event["pid"] for event in events if event["name"] == "process_name"}
    for process in sorted({event["pid"] for event in events} - named):
        yield f"process {process} has no name"


def _crossing(events: list[Event]) -> Iterator[str]:
    """Slices of a thread lie side by side or within one another; what only overlaps is not shown as it was."""
    for thread, slices in slices_by_thread(events).items():
        around: list[Event] = []
        for event in slices:
            while around and _end(around[-1]) <= event["ts"] + ROUNDING:
                around.pop()
            if around and _end(event) > _end(around[-1]) + ROUNDING:
                yield f"{event!r} overlaps {around[-1]!r} in thread {thread}"
            around.append(event)


def _loose_flows(events: list[Event]) -> Iterator[str]:
    """Each flow has a start and then an end, under one name, both within slices."""
    threads = slices_by_thread(events)
    flows: dict[Any, list[Event]] = defaultdict(list)
    for event in events:
        if event["ph"] in "sf":
            flows[event["id"]].append(event)
    for ends in flows.values():
        if [end["ph"] for end in ends] != ["s", "f"] or ends[0]["ts"] > ends[1]["ts"]:
            yield f"{ends!r} is no start and end"
        elif any(ends[0][key] != ends[1][key] for key in ("name", "cat")):
            yield f"{ends!r} have not one name"
        for end in ends:
            slices = threads.get((end["pid"], end["tid"]), [])
            if not any(each["ts"] <= end["ts"] <= _end(each) for each in slices):
                yield f"{end!r} is in no slice"


def _end(event: Event) -> float:
    return float(event["ts"] + event["dur"])
