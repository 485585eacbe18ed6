"""Tells which of TensorFlow's stack traces were captured in one place, without having them written out.

A trace of TensorFlow's is a pointer to a shared capture (code objects and lines) and to what maps and filters
its frames. All that Python is offered, be it `==`, makes it write out its frames, and keep them as long as
the graph: 10 us and 8 kB an operation, most of the time and memory that native tfprof takes. So the pointers
are read from memory, through the system's own file for that: a wrong address there is an error and never a
crash. And only if traces made to try it prove that the pointers lie where they are sought.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, cast

INSTANCE = object.__basicsize__
"""Where pybind11 keeps the pointer to the C++ object: after the header of the Python object."""

TYPE = 8
POINTERS = slice(24, 76)
"""Where the C++ object says where it was captured; before are its type, a lock and the frames written out."""


class Captures:
    """Tells captures apart while it is open; knows none where the layout is not proven.

    >>> with Captures() as captures:
    ...     captures.place("no trace") is None
    True
    """

    def __enter__(self) -> Captures:
        self._stacks = sys.modules.get("tensorflow.python.util.tf_stack")
        self._memory: int | None = None
        if self._stacks is not None and sys.implementation.name == "cpython":
            with suppress(OSError):
                self._memory = os.open("/proc/self/mem", os.O_RDONLY)
                self._prove()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def place(self, trace: object) -> bytes | None:
        """Bytes that are equal only for traces of equal frames; None where the traces must be compared."""
        if self._memory is None or type(trace) is not self._of_python:
            return None
        found = self._read(trace)
        return found[POINTERS] if found[:TYPE] == self._of_cpp and len(found) == POINTERS.stop else None

    def _prove(self) -> None:
        """Whether the bytes agree for traces of one place, and only for these, before and after writing out."""
        first, *others = _example_traces(self._stacks)
        before = self._read(first)
        same, *different = [self._read(trace)[POINTERS] for trace in others]
        is_written_out = len(first) > 0
        after = self._read(first)[POINTERS]
        proven = is_written_out and before[POINTERS] == same == after and len({same, *different}) == len(others)
        self._of_python, self._of_cpp = type(first), before[:TYPE]
        if not proven:
            self._close()

    def _read(self, trace: object) -> bytes:
        """The C++ object of a trace, as far as POINTERS; empty where it is not readable."""
        memory = cast(int, self._memory)
        try:
            address = int.from_bytes(os.pread(memory, 8, id(trace) + INSTANCE), sys.byteorder)
            return os.pread(memory, POINTERS.stop, address)
        except (OSError, OverflowError):
            return b""

    def _close(self) -> None:
        if self._memory is not None:
            os.close(self._memory)
            self._memory = None


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
