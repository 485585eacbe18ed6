"""Reads the Python stacks in which the ops of a live graph were made, and each distinct stack only once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfprof_widget.ingest.live.captures import living_code, places
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.errors import warn_user
from tfprof_widget.profiles.tables import CodeStacks, Lists

OURS = str(Path(__file__).parents[2] / "capturing")
"""The folder of the hooks, whose frames are no part of the program that they watch."""

CODE_IS_GONE = (
    "the code that made them has been freed, and TensorFlow does not keep it; to see lines, run "
    "%load_ext tfprof_widget before the cells that build the graph, or build it in the captured code"
)

NONE = "none"
"""Native tfprof's name for string 0, which stands for everything that is missing."""


def read_traces(
    operations: Sequence[Any], note: Callable[[str], None] = warn_user, kept: Sequence[range] = ()
) -> CodeStacks:
    """The stacks of operations, in their order; unknown parts of a frame are string 0, or line -1.

    Operations in the `kept` ranges were made by code that has been kept alive since. Operations that were made by freed
    code get no stack, and a note says so.

    >>> read_traces([]).strings
    ('none',)
    """
    is_kept = np.zeros(len(operations), np.bool_)
    for positions in kept:
        is_kept[positions.start : positions.stop] = True
    stack, distinct, unknown = _distinct_stacks([operation.traceback for operation in operations], is_kept.tolist())
    if unknown:
        note(f"{'1 op has' if unknown == 1 else f'{unknown:,} ops have'} no line of code: {CODE_IS_GONE}")
    return _traces(np.array(stack, np.int32), distinct)


def _distinct_stacks(traces: Sequence[Any], is_kept: Sequence[bool]) -> tuple[list[int], list[Any], int]:
    """The stack of each operation, a trace of TensorFlow for each stack, and the number of unreadable traces.

    Traces are compared by their captures, which hold the addresses of code. If other code has taken the memory of freed
    code, equal captures may mean different code. So operations whose code is kept never share a stack with others.
    """
    keys = [
        (index if place is None else place, kept)
        for index, (place, kept) in enumerate(zip(places(traces), is_kept, strict=True))
    ]
    first = {key: trace for key, trace in zip(reversed(keys), reversed(traces), strict=True) if trace is not None}
    code = dict(zip(first, living_code(list(first.values()), [kept for _, kept in first]), strict=True))
    known: dict[Any, int] = {}
    stack: list[int] = []
    distinct: list[Any] = []
    unknown = 0
    for key, trace in zip(keys, traces, strict=True):
        if trace is None or code[key] is None:
            unknown += trace is not None
            stack.append(ABSENT)
            continue
        same = trace if isinstance(key[0], int) else key  # traces without bytes to compare are compared by their frames
        index = known.get(same)
        if index is None:
            index = known[same] = len(distinct) if trace else ABSENT
            if trace:
                distinct.append(trace)
        stack.append(index)
    return stack, distinct, unknown


def _traces(stack: Any, distinct: Sequence[Iterable[Any]]) -> CodeStacks:
    strings: dict[str, int] = {NONE: 0}
    frames: dict[tuple[int, int, int, int], int] = {}
    start = [0]
    values = []

    def string(text: str) -> int:
        return strings.setdefault(text, len(strings)) if text else 0

    for trace in distinct:
        for file, line, function, source in trace:
            if file.startswith(OURS):
                continue
            frame = (string(file), line or -1, string(function), string(source))
            values.append(frames.setdefault(frame, len(frames)))
        start.append(len(values))
    file, line, function, source = np.array(list(frames), np.int32).reshape(-1, 4).T
    return CodeStacks(
        strings=tuple(strings),
        string_numbers=np.arange(len(strings)),
        file=file,
        line=line,
        function=function,
        source=source,
        function_line=np.full(len(frames), -1, np.int32),
        stacks=Lists(np.array(start, np.int64), np.array(values, np.int32)),
        stack=stack,
    )
