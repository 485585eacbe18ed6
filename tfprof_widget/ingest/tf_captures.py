"""Tells which of TensorFlow's stack traces were captured in one place, without having them written out.

A trace of TensorFlow's is a pointer to a shared capture (code objects and lines) and to what maps and filters
its frames. All that Python is offered, be it `==`, makes it write out its frames, and keep them as long as
the graph: 10 us and 8 kB an operation, most of the time and memory that native tfprof takes. So the pointers
are read from memory, by a call of the system that takes a wrong address for an error and never crashes; and
only if traces made to try it prove that the pointers lie where they are sought.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reader = Callable[[NDArray[np.uint64], int], NDArray[np.uint8] | None]

INSTANCE = object.__basicsize__
"""Where pybind11 keeps the pointer to the C++ object: after the header of the Python object."""

TYPE = 8
MOST_AT_ONCE = 1024
POINTERS = slice(24, 76)
"""Where the C++ object says where it was captured; before are its type, a lock and the frames written out."""


def places(traces: Sequence[object]) -> list[bytes | None]:
    """For each trace bytes that are equal only for traces of equal frames; None where these must be compared.

    >>> places(["no trace"])
    [None]
    """
    stacks = sys.modules.get("tensorflow.python.util.tf_stack")
    read = _reader()
    if stacks is None or read is None or sys.implementation.name != "cpython":
        return [None] * len(traces)
    proven = _prove(stacks, read)
    if proven is None:
        return [None] * len(traces)
    of_python, of_cpp = proven
    known = [index for index, trace in enumerate(traces) if type(trace) is of_python]
    objects = _cpp_objects([traces[index] for index in known], read)
    found: list[bytes | None] = [None] * len(traces)
    for index, content in zip(known, objects, strict=True):
        if content[:TYPE] == of_cpp:
            found[index] = content[POINTERS]
    return found


def _prove(stacks: Any, read: Reader) -> tuple[type, bytes] | None:
    """The types of traces in Python and in C++, if the bytes agree for traces of one place and only for these.

    They have to agree before and after the frames are written out.
    """
    try:
        first, *others = _example_traces(stacks)
    except (AttributeError, TypeError):  # TensorFlow before 2.13 takes no level, and keeps its captures otherwise
        return None
    before, same, *different = _cpp_objects([first, *others], read)
    is_written_out = len(first) > 0
    (after,) = _cpp_objects([first], read)
    distinct = {content[POINTERS] for content in (same, *different)}
    agree = before[POINTERS] == same[POINTERS] == after[POINTERS] != b""
    return (type(first), before[:TYPE]) if is_written_out and agree and len(distinct) == len(others) else None


def _cpp_objects(traces: Sequence[object], read: Reader) -> list[bytes]:
    """The C++ object of each trace, as far as POINTERS; all empty where one is not readable."""
    instances = np.array([id(trace) + INSTANCE for trace in traces], np.uint64)
    addresses = read(instances, instances.itemsize)
    contents = None if addresses is None else read(addresses.view(np.uint64).ravel(), POINTERS.stop)
    if contents is None:
        return [b""] * len(traces)
    joined = contents.tobytes()
    return [joined[start : start + POINTERS.stop] for start in range(0, len(joined), POINTERS.stop)]


def _reader() -> Reader | None:
    """Reads so many bytes at each address of this process: all of them, or nothing if one is not readable.

    The system copies the memory, as it does for a debugger: a wrong address is an error and never a crash.
    """
    try:
        system: Any = ctypes.CDLL(None).process_vm_readv
    except (AttributeError, OSError, TypeError):
        return None
    number, pointer = ctypes.c_ulong, ctypes.c_void_p
    system.restype, system.argtypes = ctypes.c_ssize_t, [ctypes.c_int, pointer, number, pointer, number, number]

    def read(addresses: NDArray[np.uint64], size: int) -> NDArray[np.uint8] | None:
        remote = np.stack((addresses, np.full_like(addresses, size)), axis=1)
        content = np.zeros((len(addresses), size), np.uint8)
        for start in range(0, len(addresses), MOST_AT_ONCE):
            part, there = content[start : start + MOST_AT_ONCE], remote[start : start + MOST_AT_ONCE]
            here = np.array([part.ctypes.data, part.nbytes], np.uint64)
            copied = system(os.getpid(), here.ctypes.data, 1, there.ctypes.data, len(there), 0)
            if copied != part.nbytes:
                return None
        return content

    return read


def _example_traces(stacks: Any) -> list[Any]:
    """Two traces that agree in all; others that differ in their filter, map, level and line."""

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
