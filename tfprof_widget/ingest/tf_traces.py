"""Reads the Python stacks in which the operations of a live tf.Graph were made, each distinct stack once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfprof_widget.ingest.tf_captures import places
from tfprof_widget.tables import ABSENT, Lists, Traces

OURS = str(Path(__file__).parent.parent / "capturing")
"""Where hooks are, which are no part of the program that they watch."""

NONE = "none"
"""What native tfprof names the string of index 0, which stands for all that is missing."""


def read_traces(operations: Iterable[Any]) -> Traces:
    """The stacks of operations, in their order; what is not known of a frame is string 0, or line -1.

    >>> read_traces([]).strings
    ('none',)
    """
    stack, distinct = _distinct_stacks(operations)
    return _traces(np.array(stack, np.int32), distinct)


def _distinct_stacks(operations: Iterable[Any]) -> tuple[list[int], list[Any]]:
    """The stack of each operation, and one of TensorFlow's traces for each stack."""
    traces = [operation.traceback for operation in operations]
    of_place: dict[bytes, int] = {}
    of_trace: dict[Any, int] = {}
    distinct: list[Any] = []
    stack = []
    for trace, place in zip(traces, places(traces), strict=True):
        known: dict[Any, int] = of_trace if place is None else of_place
        key = trace if place is None else place
        index = known.get(key)
        if index is None:
            index = known[key] = len(distinct) if trace else ABSENT
            if trace:
                distinct.append(trace)
        stack.append(index)
    return stack, distinct


def _traces(stack: Any, distinct: Sequence[Iterable[Any]]) -> Traces:
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
    return Traces(
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
