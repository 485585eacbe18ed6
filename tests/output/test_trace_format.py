"""The validator of traces finds what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.output.trace_format import Event, faults


def named(process: int) -> Event:
    return {"ph": "M", "name": "process_name", "pid": process, "tid": 1, "args": {"name": "CPU:0"}}


def slice_at(start: float, duration: float, **changed: Any) -> Event:
    event = {"ph": "X", "name": "a", "cat": "Op", "pid": 1, "tid": 1, "ts": start, "dur": duration, "args": {}}
    return event | changed


def flow(phase: str, at: float, **changed: Any) -> Event:
    binding = {"bp": "e"} if phase == "f" else {}
    return {"ph": phase, "name": "a", "cat": "Flow", "id": 1, "pid": 1, "tid": 1, "ts": at, **binding, **changed}


COUNTER = {"ph": "C", "name": "memory", "pid": 1, "tid": 1, "ts": 0, "args": {"bytes": 5}}


def trace(*events: Any, unit: str = "ns") -> Any:
    return {"displayTimeUnit": unit, "traceEvents": list(events)}


@pytest.mark.parametrize(
    "right",
    [
        trace(),
        trace(named(1), slice_at(0, 4), slice_at(4, 2.5), slice_at(0, 3), COUNTER),
        trace(named(1), slice_at(0, 4), slice_at(5, 1, tid=2), flow("s", 3), flow("f", 5, tid=2)),
    ],
)
def test_what_is_right_passes(right: Any) -> None:
    assert list(faults(right)) == []


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ([], "no object"),
        (trace(unit="us"), "displayTimeUnit"),
        (trace("X"), "no event of a known phase"),
        (trace(named(1), {"ph": "X"}), "has not the keys"),
        (trace(named(1), slice_at(0, -1)), "dur is no time"),
        (trace(named(1), slice_at(float("nan"), 1)), "ts is no time"),
        (trace(named(1), slice_at(0, 1, name=7)), "are texts"),
        (trace(named(1), slice_at(0, 1, pid="1")), "whole numbers"),
        (trace(named(1), slice_at(0, 1, tid=0)), "whole numbers, and 0 is the kernel's"),
        (trace(slice_at(0, 1)), "process 1 has no name"),
        (trace({**named(1), "name": "proces_name"}), "names nothing"),
        (trace(named(1), {**COUNTER, "args": {"bytes": "5"}}), "counts nothing"),
        (trace(named(1), slice_at(0, 4), slice_at(3, 2)), "overlaps"),
        (trace(named(1), slice_at(0, 4), flow("s", 3)), "no start and end"),
        (trace(named(1), slice_at(0, 4), flow("s", 3), flow("f", 2)), "no start and end"),
        (trace(named(1), slice_at(0, 4), flow("s", 3), flow("f", 4, name="b")), "not one name"),
        (trace(named(1), slice_at(0, 4), flow("s", 3), flow("f", 5)), "in no slice"),
        (trace(named(1), slice_at(0, 4), flow("s", 3), flow("f", 4, bp="s")), "bp can only be e"),
    ],
)
def test_what_is_wrong_is_found(wrong: Any, fault: str) -> None:
    assert [found for found in faults(wrong) if fault in found]
