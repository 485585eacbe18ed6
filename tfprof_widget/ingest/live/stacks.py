"""Reads the Python stacks in which the ops of a live graph were made, and each distinct stack only once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfprof_widget.ingest.live.captures import living_code, places
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.errors import warn_user
from tfprof_widget.profiles.tables import CodeStacks, Lists

OURS = str(Path(__file__).parents[2] / "capturing")
"""The folder of the hooks, whose frames are no part of the program that they watch."""

IMPORTED = (
    "ops of an imported graph have no line of code, for what is imported does not tell where it was built: "
    "build the graph in this program, or call write_op_log where it is built and give profile() that op_log"
)
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
    traces = (operation.traceback for operation in operations)
    hashable = [tuple(trace) if isinstance(trace, list) else trace for trace in traces]  # older versions give lists
    stack, distinct, unknown = _distinct_stacks(hashable, is_kept.tolist())
    if unknown:
        note(f"{'1 op has' if unknown == 1 else f'{unknown:,} ops have'} no line of code: {CODE_IS_GONE}")
    lacks_most = 2 * sum(trace is None for trace in hashable) > len(hashable)
    if lacks_most and not operations[0].graph.building_function:  # TensorFlow rewrites functions of datasets itself
        note(IMPORTED)
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


Frame = tuple[str, int, str, str]
"""The file, line, function and source of a frame."""

REPLICAS = "/distribute/mirrored_run.py"
"""TensorFlow's module that runs each replica of a MirroredStrategy in a thread of its own."""

_THREADS = "threading.py"


def from_their_callers(distinct: Sequence[Sequence[Frame]]) -> Iterator[Sequence[Frame]]:
    """The stacks of one graph; those of replicas' threads follow the call that started the threads.

    The other stacks tell of that call: those within it, as where replicas' values are reduced, have it, and what all
    have in common stands before it. Of several such calls, it is what they have in common.
    """
    count = [_threading_frames(trace) for trace in distinct]
    others = [trace for trace, threading in zip(distinct, count, strict=True) if not threading]
    calls = [trace[: at + 1] for trace in others if (at := _first_of_replicas(trace)) is not None]
    caller = _common(calls or others)
    for trace, threading in zip(distinct, count, strict=True):
        is_of_replica = bool(threading) and _first_of_replicas(trace) == threading
        yield (*caller, *trace[threading:]) if is_of_replica and caller else trace


def _threading_frames(trace: Sequence[Frame]) -> int:
    """How many frames of Python's threads a stack begins with."""
    return next((at for at, frame in enumerate(trace) if Path(frame[0]).name != _THREADS), len(trace))


def _first_of_replicas(trace: Sequence[Frame]) -> int | None:
    files = (frame[0].replace("\\", "/") for frame in trace)
    return next((at for at, file in enumerate(files) if file.endswith(REPLICAS)), None)


def _common(traces: Sequence[Sequence[Frame]]) -> Sequence[Frame]:
    """The frames with which all stacks begin."""
    first, *others = traces or [()]
    same = len(first)
    for other in others:
        pairs = enumerate(zip(first[:same], other, strict=False))
        same = next((at for at, (frame, others_frame) in pairs if frame != others_frame), min(same, len(other)))
    return first[:same]


def _traces(stack: Any, distinct: Sequence[Iterable[Any]]) -> CodeStacks:
    strings: dict[str, int] = {NONE: 0}
    frames: dict[tuple[int, int, int, int], int] = {}
    start = [0]
    values = []

    def string(text: str) -> int:
        return strings.setdefault(text, len(strings)) if text else 0

    for trace in from_their_callers([tuple(trace) for trace in distinct]):
        for path, number, name, text in trace:
            if path.startswith(OURS):
                continue
            frame = (string(path), number or -1, string(name), string(text))
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
