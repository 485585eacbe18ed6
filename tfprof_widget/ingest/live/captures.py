"""Compares TensorFlow's stack traces in memory, without making Python lists of them, and says which are safe to read.

A trace of TensorFlow has a pointer to a shared capture (code objects and lines), and pointers to objects that map and
filter its frames. Every access from Python, even `==`, makes the trace write out its frames, and keep them as long as
the graph: 10 us and 8 kB for each operation, most of the time and memory that native tfprof takes. Moreover TensorFlow
2.21 does not keep the code objects of traces with up to 16 frames alive. The code of a cell or an `exec` is freed when
it has run, and a trace that is written out after that reads freed memory. So this module reads pointers and code
objects by a system call, for which a wrong address is an error and never a crash. It does so only if example traces
prove that the pointers lie where they are expected.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import Thread
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.threads import running_frames

Reader = Callable[[NDArray[np.uint64], NDArray[np.uint64]], bytes | None]
Frames = list[tuple[int, int]]
"""The address of the code object and the line of each frame, the innermost frame first."""

Result = TypeVar("Result")

INSTANCE = object.__basicsize__
"""Where pybind11 keeps the pointer to the C++ object: after the header of the Python object."""

TYPE = 8
WRITTEN = slice(16, 24)
"""Where the C++ object keeps the frames that were written out; once they are, it is read from there."""

CAPTURE = slice(24, 32)
"""Where the C++ object points to its capture."""

POINTERS = slice(24, 76)
"""Where the C++ object points to its capture, filter and map, and has its level and line."""

HEADER = 16
"""A capture's type, and twice the number of its frames; plus one if an address of the frames follows."""

FRAME = 16
MOST_FRAMES = 100_000
MANY = 20
NO_LINE = 2**32 - 1
ONCE = "<module>"
"""Python's name for code that is executed only once: a module, a script, a cell."""

MOST_AT_ONCE = 1024
LARGEST_COUNT = 2**32 - 1
"""A living object has at most so many references; a freed one has a pointer in their place, or 0."""


class Layout(NamedTuple):
    """The types of a trace in Python and in C++ and of its capture, as addresses in memory."""

    of_python: type
    of_cpp: bytes
    of_capture: bytes


class CapturedFrames(NamedTuple):
    """The frames of a capture, None if its layout is another one; if there are many, they lie elsewhere in memory."""

    told: Frames | None
    lie_elsewhere: bool


class Keeping(NamedTuple):
    """Whether TensorFlow keeps the code objects of captures with few frames alive, and of those with many.

    TensorFlow 2.21 does so for many frames. For few frames it moves the pointers, and then releases the objects through
    the original ones.
    """

    of_few: bool
    of_many: bool


def places(traces: Sequence[object]) -> list[bytes | None]:
    """For each trace bytes that are equal only if the frames are equal; None if the frames must be compared.

    That is so where TensorFlow has written the frames out: other code may have taken the memory of the code since, and
    then a trace of that code has the same bytes.

    >>> places(["no trace"])
    [None]
    """
    read = _reader()
    layout = _layout(read)
    if layout is None:
        return [None] * len(traces)
    contents = _contents(traces, layout, read)
    return [
        content[POINTERS] if content[:TYPE] == layout.of_cpp and not any(content[WRITTEN]) else None
        for content in contents
    ]


def living_code(traces: Sequence[object], is_kept: Sequence[bool]) -> list[tuple[CodeType, ...] | None]:
    """For each trace the code objects to hold while it is read; None if it must not be read, as one may be freed.

    There is nothing to hold if TensorFlow keeps the objects, or has written the frames out. For some traces it is known
    that all code `is_kept` since they were made. For the others the objects must be alive and have the lines that the
    traces name. Code that is executed only once must be running, because another object may have taken the place of a
    freed one.

    >>> living_code(["no trace"], [False])
    [()]
    """
    stacks = sys.modules.get("tensorflow.python.util.tf_stack")
    keeping = _keeping(stacks)
    if keeping.of_few and keeping.of_many:
        return [()] * len(traces)
    read = _reader()
    layout = _layout(read)
    if layout is None or read is None:
        return [None] * len(traces)
    contents = _contents(traces, layout, read)
    captures = {content[CAPTURE] for content in contents if _points(content, layout)}
    found = {capture: _frames(_word(capture), layout, read) for capture in captures}
    frames = {capture: each for capture, each in found.items() if not (keeping.of_many and each.lie_elsewhere)}
    known = _living({address for each in frames.values() for address, _ in each.told or ()}, read)
    running = {id(frame.f_code) for _, frame in running_frames()}
    lines = {
        address: {NO_LINE, *(line for *_, line in code.co_lines())}
        for address, code in known.items()
        if code.co_name != ONCE or address in running
    }

    def living(content: bytes, is_kept: bool) -> tuple[CodeType, ...] | None:
        if not _points(content, layout) or content[CAPTURE] not in frames:
            return ()
        told = frames[content[CAPTURE]].told
        if told is None or any(address not in known for address, _ in told):
            return None
        if not is_kept and any(line not in lines.get(address, ()) for address, line in told):
            return None
        return tuple(known[address] for address, _ in told)

    return [living(content, kept) for content, kept in zip(contents, is_kept, strict=True)]


def _points(content: bytes, layout: Layout) -> bool:
    """Whether a trace still points to a capture, and is not written out."""
    return content[:TYPE] == layout.of_cpp and not any(content[WRITTEN]) and any(content[CAPTURE])


def _keeping(stacks: Any) -> Keeping:
    """Find out whose code TensorFlow keeps, by functions to which nothing else refers."""
    if stacks is None:
        return Keeping(of_few=True, of_many=True)

    def place() -> Any:
        return stacks.extract_stack()

    def is_kept() -> bool:
        fresh = FunctionType(place.__code__.replace(), globals(), closure=place.__closure__)
        before = sys.getrefcount(fresh.__code__)
        trace = fresh()
        return sys.getrefcount(fresh.__code__) > before and trace is not None

    return Keeping(*_with_few_frames_and_with_many(is_kept))


def _with_few_frames_and_with_many(work: Callable[[], Result]) -> tuple[Result, Result]:
    """The results of some work called within few frames, which lie in the capture, and within many, which do not."""
    found: list[Result] = []

    def deeper(levels: int) -> None:
        if levels:
            deeper(levels - 1)
        else:
            found.append(work())

    few = Thread(target=deeper, args=(0,))
    few.start()
    few.join()
    deeper(MANY)
    return found[0], found[1]


def _layout(read: Reader | None) -> Layout | None:
    """The layout in memory, if all bytes of the example traces are as expected; else None.

    The bytes of traces agree if and only if the traces are of one place, before and after their frames are written out,
    and captures have the frames that Python reports.
    """
    stacks: Any = sys.modules.get("tensorflow.python.util.tf_stack")
    if stacks is None or read is None or sys.implementation.name != "cpython":
        return None
    try:
        first, *others = _example_traces(stacks)
        examples = _example_frames(stacks)
    except (AttributeError, TypeError):  # TensorFlow before 2.13 takes no level, and keeps its captures in another way
        return None
    before, same, *different = _cpp_objects([first, *others], read)
    is_written_out = len(first) > 0
    (after,) = _cpp_objects([first], read)
    distinct = {content[POINTERS] for content in (same, *different)}
    agree = before[POINTERS] == same[POINTERS] == after[POINTERS] != b"" and len(distinct) == len(others)
    if not (is_written_out and agree and any(after[WRITTEN]) and not any(before[WRITTEN])):
        return None
    capture = _word(before[CAPTURE])
    layout = Layout(type(first), before[:TYPE], _read_one(capture, TYPE, read) or b"")
    found = [
        (_frames(_word(content[CAPTURE]), layout, read).told, expected)
        for content, (_, expected) in zip(_cpp_objects([trace for trace, _ in examples], read), examples, strict=True)
    ]
    # the frame of `extract_stack` is inside them
    are_right = all(frames and len(frames) == len(told) + 1 and frames[-len(told) :] == told for frames, told in found)
    return layout if are_right else None


def _contents(traces: Sequence[object], layout: Layout, read: Reader | None) -> list[bytes]:
    """The C++ object of each trace, up to POINTERS; empty if it is no trace, or not readable."""
    known = [index for index, trace in enumerate(traces) if type(trace) is layout.of_python]
    found = [b""] * len(traces)
    if read is not None:
        for index, content in zip(known, _cpp_objects([traces[index] for index in known], read), strict=True):
            found[index] = content
    return found


def _cpp_objects(traces: Sequence[object], read: Reader) -> list[bytes]:
    """The C++ object of each trace, up to POINTERS; all are empty if one is not readable."""
    instances = np.array([id(trace) + INSTANCE for trace in traces], np.uint64)
    addresses = read(instances, np.full_like(instances, instances.itemsize))
    if addresses is not None:
        objects = np.frombuffer(addresses, np.uint64)
        joined = read(objects, np.full_like(objects, POINTERS.stop))
        if joined is not None:
            return [joined[start : start + POINTERS.stop] for start in range(0, len(joined), POINTERS.stop)]
    return [b""] * len(traces)


def _frames(capture: int, layout: Layout, read: Reader) -> CapturedFrames:
    """The frames of a capture."""
    head = _read_one(capture, HEADER + 8, read)
    if head is None or head[:TYPE] != layout.of_capture:
        return CapturedFrames(None, lie_elsewhere=False)
    count, lie_elsewhere = divmod(_word(head[TYPE:HEADER]), 2)
    if not count <= MOST_FRAMES:
        return CapturedFrames(None, lie_elsewhere=False)
    start = _word(head[HEADER:]) if lie_elsewhere else capture + HEADER
    content = _read_one(start, count * FRAME, read)
    if content is None:
        return CapturedFrames(None, lie_elsewhere=False)
    address, line = np.frombuffer(content, np.uint64).reshape(-1, 2).T
    told = list(zip(address.tolist(), (line & np.uint64(NO_LINE)).tolist(), strict=True))
    return CapturedFrames(told, lie_elsewhere=bool(lie_elsewhere))


def _living(addresses: set[int], read: Reader) -> dict[int, CodeType]:
    """The living code objects at these addresses."""
    found = {}
    for address in addresses:
        head = _read_one(address, INSTANCE, read)
        if head is not None and 0 < _word(head[:8]) <= LARGEST_COUNT and _word(head[8:16]) == id(CodeType):
            found[address] = ctypes.cast(address, ctypes.py_object).value
    return found


def _word(content: bytes) -> int:
    return int.from_bytes(content, sys.byteorder)


def _read_one(address: int, size: int, read: Reader) -> bytes | None:
    return read(np.array([address], np.uint64), np.array([size], np.uint64))


def _reader() -> Reader | None:
    """A function that reads bytes at addresses of this process: all, or none if one address is not readable.

    The system copies the memory, as for a debugger: a wrong address is an error and never a crash.
    """
    try:
        system: Any = ctypes.CDLL(None).process_vm_readv
    except (AttributeError, OSError, TypeError):
        return None
    number, pointer = ctypes.c_ulong, ctypes.c_void_p
    system.restype, system.argtypes = ctypes.c_ssize_t, [ctypes.c_int, pointer, number, pointer, number, number]

    def read(addresses: NDArray[np.uint64], sizes: NDArray[np.uint64]) -> bytes | None:
        remote = np.stack((addresses, sizes), axis=1)
        parts = []
        for start in range(0, len(addresses), MOST_AT_ONCE):
            there = remote[start : start + MOST_AT_ONCE]
            part = ctypes.create_string_buffer(int(there[:, 1].sum()))
            here = np.array([ctypes.addressof(part), len(part)], np.uint64)
            copied = system(os.getpid(), here.ctypes.data, 1, there.ctypes.data, len(there), 0)
            if copied != len(part):
                return None
            parts.append(part.raw)
        return b"".join(parts)

    return read


def _example_traces(stacks: Any) -> list[Any]:
    """Two traces that agree in everything, and others that differ in their filter, map, level and line."""

    class Filter(stacks.StackTraceFilter):  # type: ignore[misc]
        def get_filtered_filenames(self) -> set[str]:
            return set()

    class Mapper(stacks.StackTraceMapper):  # type: ignore[misc]
        def get_effective_source_map(self) -> dict[Any, Any]:
            return {}

    contexts: list[tuple[AbstractContextManager[Any], int]] = [
        (nullcontext(), 1),
        (nullcontext(), 1),
        (Filter(), 1),
        (Mapper(), 1),
        (nullcontext(), 2),
    ]
    traces = []
    for context, level in contexts:
        with context:
            traces.append(stacks.extract_stack(level))
    return [*traces, stacks.extract_stack()]


def _example_frames(stacks: Any) -> tuple[tuple[Any, Frames], tuple[Any, Frames]]:
    """Traces with few frames and with many, each with the frames that it must have."""
    return _with_few_frames_and_with_many(lambda: (stacks.extract_stack(1), _told(sys._getframe())))


def _told(frame: FrameType | None) -> Frames:
    frames = []
    while frame is not None:
        frames.append((id(frame.f_code), frame.f_lineno))
        frame = frame.f_back
    return frames
