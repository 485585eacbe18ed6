"""Reads an XSpace, the trace of TensorFlow 2's profiler, into columns of executions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tfprof_widget.errors import ProfileError
from tfprof_widget.ingest.collector import collector_paused
from tfprof_widget.ingest.wire import as_message
from tfprof_widget.ingest.xspace_columns import MEMORY, Label, Ran, XSpaceColumns
from tfprof_widget.ingest.xspace_events import Kernel, Kind, Thread, dropped_events, host_threads, kernels
from tfprof_widget.ingest.xspace_executions import executions
from tfprof_widget.ingest.xspace_memory import Record, add_up, held, record_of
from tfprof_widget.ingest.xspace_names import executed_key
from tfprof_widget.ingest.xspace_notes import read_notes
from tfprof_widget.ingest.xspace_times import Intervals, last_started
from tfprof_widget.ingest.xspace_transfers import read_exchanges
from tfprof_widget.integers import NANOS_A_MICRO
from tfprof_widget.tables import Flags, Integers

_RAN: dict[Kind, Ran] = {"iterator": "iterator", "eager run": "eager run"}


@dataclass(frozen=True)
class Step:
    """A step of the program: all that runs from its start (nanoseconds since the epoch) to the next one's.

    One that `is_eager` is what Python ran op by op between other steps, and nothing else while there are any: functions
    and iterators run on for the step before. Several may have one number.
    """

    number: int
    name: str
    start: int
    is_eager: bool = False


def read_xspace(xspace: Any, steps: Sequence[Step] = (), profiling_started: int = 0) -> XSpaceColumns:
    """The executions in an XSpace by step; without steps they are all step 0.

    An execution's time is its own: what ran inside of it on the same thread is not in it. `profiling_started` is for
    an XSpace that does not say since when its times count.

    >>> read_xspace(b"").labels
    ()
    >>> read_xspace(b"truncated")
    Traceback (most recent call last):
    ...
    tfprof_widget.errors.ProfileError: xspace: these 9 bytes are no XSpace (...); ...
    """
    with collector_paused():
        space = as_message(xspace, "XSpace", "xspace")
        rows = _Rows()
        for thread in host_threads(space, profiling_started):
            rows.add_thread(thread)
        for kernel in kernels(space, profiling_started):
            rows.add_kernel(kernel)
        ordered = sorted(steps, key=lambda step: step.start)
        columns = rows.columns(ordered, dropped_events(space))
        exchanges = list(read_exchanges(space, profiling_started))
        asked = _column([each.start for each in exchanges])
        step, _ = _steps(asked, np.zeros(len(asked), np.bool_), ordered)
        by_step = tuple(zip(step.tolist(), exchanges, strict=True))
        return replace(columns, exchanges=by_step, notes=read_notes(space))


@dataclass
class _Rows:
    """The executions as they are found; `kinds` are the labels but for what is only known when all are found.

    `input_shapes` are those of the earliest execution, and when that was: the last batch may be smaller.
    """

    kinds: dict[tuple[Ran, str, str, str], int] = field(default_factory=dict)
    kind: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    duration: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    memory: list[tuple[int, ...]] = field(default_factory=list)
    allocations: list[tuple[int, Record]] = field(default_factory=list)
    releases: list[Record] = field(default_factory=list)
    input_shapes: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    calls: list[tuple[int, str]] = field(default_factory=list)

    def add_thread(self, thread: Thread) -> None:
        """Add what ran on a thread of the host."""
        plain: Ran = "data op" if thread.is_of_data else "op"
        for each in executions(thread):
            if each.memory:
                memory = add_up(each.memory)
                row = len(self.kind)
                self.memory.append((row, *(getattr(memory, name.removesuffix("_bytes")) for name in MEMORY)))
                self.allocations += [(row, record_of(event)) for event in each.memory if event.kind == "allocation"]
            if each.input_shapes:
                key, told = (executed_key(each.name), each.op), (each.start, each.input_shapes)
                self.input_shapes[key] = min(self.input_shapes.get(key, told), told)
            self._add(
                (_RAN.get(each.kind, plain), each.name, each.op, ""),
                each.start,
                each.end,
                max(each.own, 0),
                thread.number,
            )
        self.releases += [record_of(event) for event in thread.events if event.kind == "release"]
        self.calls += [(event.start, event.op) for event in thread.events if event.kind == "eager op" and event.is_call]

    def add_kernel(self, kernel: Kernel) -> None:
        """Add what ran on an accelerator."""
        kind: tuple[Ran, str, str, str] = ("kernel", kernel.name, kernel.op, kernel.device)
        self._add(kind, kernel.start, kernel.start + kernel.duration, kernel.duration, kernel.stream)

    def _add(self, kind: tuple[Ran, str, str, str], start: int, end: int, duration: int, thread: int) -> None:
        self.kind.append(self.kinds.setdefault(kind, len(self.kinds)))
        self.start.append(start)
        self.end.append(end)
        self.duration.append(duration)
        self.thread.append(thread)

    def columns(self, steps: Sequence[Step], dropped: int) -> XSpaceColumns:
        """All that was found, by these steps, which are in their order."""
        start = _column(self.start)
        is_eager = self._are("eager run")
        step, is_in_eager_step = _steps(start, is_eager, steps)
        labels, label = self._labels(start, is_eager, is_in_eager_step)
        return XSpaceColumns(
            labels=labels,
            label=label.astype(np.int32),
            step=step.astype(np.int32),
            start=start,
            duration=_column(self.duration),
            thread=_column(self.thread),
            memory=_column(self.memory).reshape(-1, 1 + len(MEMORY)),
            allocations=self._held(step, is_eager, steps),
            step_names={step.number: step.name for step in steps},
            functions=frozenset(function for _, function in self.calls),
            dropped=dropped,
            input_shapes={key: shapes for key, (_, shapes) in self.input_shapes.items()},
        )

    def _are(self, *kinds: Ran) -> Flags:
        """Which executions are of these kinds."""
        flags = np.array([kind[0] in kinds for kind in self.kinds], np.bool_)
        return flags[_column(self.kind)] if len(flags) else flags

    def _held(self, step: Integers, is_eager: Flags, steps: Sequence[Step]) -> Integers:
        """The allocations and releases, without releases after the step: its memory is held to its end.

        Eager steps of one number are one, and go on when others have run: all that eager ops took is released in it.
        """
        found = held(self.allocations, self.releases)
        row, nanos = _column([row for row, _ in found]), _column([record.nanos for _, record in found])
        size = _column([record.size for _, record in found])
        is_accelerated = _column([record.on_accelerator for _, record in found])
        released_in, _ = _steps(nanos, np.zeros(len(nanos), np.bool_), steps)
        is_of_step = (size >= 0) | is_eager[row] | (released_in == step[row])
        held_in_step: Integers = np.stack([row, nanos // NANOS_A_MICRO, size, is_accelerated], axis=1)[is_of_step]
        return held_in_step

    def _labels(self, start: Integers, is_eager: Flags, is_in_eager_step: Flags) -> tuple[tuple[Label, ...], Integers]:
        """The labels in the order met, and each execution's.

        What threads did for an eager op is in its time already, unless it is an op of a function after all.
        """
        end = _column(self.end)
        within = Intervals(start[is_eager], end[is_eager]).contain(start, end)
        is_part = self._are("op") & (is_in_eager_step | within)
        calls = sorted(self.calls)
        functions = ["", *dict.fromkeys(function for _, function in calls)]
        place = {function: number for number, function in enumerate(functions)}
        called = _column([0, *(place[function] for _, function in calls)])
        function = called[last_started(_column([call for call, _ in calls]), start) + 1]
        function[self._are("iterator", "eager run")] = 0
        combined = (_column(self.kind) * len(functions) + function) * 2 + is_part
        found, first, label = np.unique(combined, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        kinds = list(self.kinds)
        labels = (
            _label(kinds[code // 2 // len(functions)], functions[code // 2 % len(functions)], is_part=bool(code % 2))
            for code in found[order].tolist()
        )
        return tuple(labels), rank[label]


def _label(known: tuple[Ran, str, str, str], function: str, *, is_part: bool) -> Label:
    kind, name, op, device = known
    key = name if kind in ("iterator", "eager run") else executed_key(name)
    return Label("eager part" if is_part else kind, function, key, op, device)


def _steps(start: Integers, is_eager: Flags, steps: Sequence[Step]) -> tuple[Integers, Flags]:
    """The number of each execution's step, and whether it started when an eager step was the last begun."""
    if not steps:
        return np.zeros(len(start), np.int64), np.zeros(len(start), np.bool_)
    at = np.maximum(last_started([step.start for step in steps], start), 0)
    number = _column([step.number for step in steps])[at]
    others = [step for step in steps if not step.is_eager]
    before = last_started([step.start for step in others], start)
    in_other = (before >= 0) & ~is_eager
    number[in_other] = _column([step.number for step in others])[before[in_other]]
    return number, np.array([step.is_eager for step in steps], np.bool_)[at]


def _column(values: Iterable[Any]) -> Integers:
    try:
        return np.array(values if isinstance(values, list) else list(values), np.int64)
    except OverflowError:
        raise ProfileError("xspace: it has a time or size beyond 2**63 - 1; it is damaged: record it again") from None
