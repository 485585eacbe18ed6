"""Adds up what loops of Keras spend on batches, steps, callbacks, validation and saving."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from threading import get_ident
from time import perf_counter
from typing import Any

import numpy as np

from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.profiles.cell import (
    BETWEEN,
    NEXT_BATCH,
    SAVING,
    STEP,
    VALIDATION,
    CodeLine,
    FitPhase,
    PhaseStretches,
)

MOST_STRETCHES = 4_096
"""Of more stretches of time the shorter half is forgotten, again and again."""


class PhaseClock:
    """The time of each phase of Keras' loops in one thread, without the phases within it.

    What happens within a validation belongs to it. Saving is counted where no loop is under way, too.

    >>> phases = PhaseClock(iter([0.0, 1.0, 3.0, 3.5]).__next__)
    >>> loop, step = phases.enter(BETWEEN), phases.enter(STEP)
    >>> phases.leave(step), phases.leave(loop)
    (None, None)
    >>> found = list(phases.found())
    >>> [(phase.name, phase.nanos) for phase in found]
    [('step', 2000000000), ('between', 1500000000)]
    >>> phases.stretches(found, 0.0).phase.tolist()
    [1, 0, 1]
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._thread = 0
        self._stack: list[str] = []
        self._since = 0.0
        self._seconds: dict[str, float] = {}
        self._times: dict[str, int] = {}
        self._lines: dict[str, CodeLine] = {}
        self._numbers: dict[str, int] = {}
        self._phase, self._start, self._length = array("i"), array("d"), array("d")
        self._shortest = 0.0

    def enter(self, phase: str, function: Any = None) -> int | None:
        """Take note that a phase begins, which runs this function if one is given; gives what `leave` needs."""
        stack = self._stack
        if not stack:
            if phase not in (BETWEEN, SAVING):
                return None
            self._thread = get_ident()
        elif get_ident() != self._thread or VALIDATION in stack:
            return None
        self._count()
        if stack and phase == BETWEEN:  # a loop within a loop
            phase = VALIDATION
        if phase not in stack:
            self._times[phase] = self._times.get(phase, 0) + 1
        code = getattr(function, "__code__", None)
        if code is not None and phase not in self._lines:
            self._lines[phase] = CodeLine(code.co_filename, code.co_firstlineno, code.co_name)
        stack.append(phase)
        return len(stack) - 1

    def leave(self, depth: int | None) -> None:
        """Take note that a phase is over."""
        if depth is not None:
            self._count()
            del self._stack[depth:]

    def found(self) -> Iterator[FitPhase]:
        """The phases: those of all loops first, then the callbacks, what took most first, and what is left."""
        names = sorted(self._times, key=lambda name: -self._seconds.get(name, 0.0))
        order = {NEXT_BATCH: 0, STEP: 1, VALIDATION: 3, SAVING: 4, BETWEEN: 5}
        for name in sorted(names, key=lambda name: order.get(name, 2)):
            yield FitPhase(
                name, round(1e9 * self._seconds.get(name, 0.0)), self._times[name], line=self._lines.get(name)
            )

    def stretches(self, phases: Sequence[FitPhase], since: float) -> PhaseStretches:
        """When these phases went on, counted from a moment on."""
        place = {phase.name: at for at, phase in enumerate(phases)}
        of_number = np.array([place.get(name, ABSENT) for name in self._numbers], np.int32)
        phase = of_number[np.array(self._phase, np.int32)]
        known = phase != ABSENT
        seconds = np.array(self._start, np.float64) - since, np.array(self._length, np.float64)
        start, nanos = (np.rint(each[known] * 1e9).astype(np.int64) for each in seconds)
        return PhaseStretches(phase[known], start, nanos)

    def _count(self) -> None:
        now = self._clock()
        if self._stack:
            phase, seconds = self._stack[-1], now - self._since
            self._seconds[phase] = self._seconds.get(phase, 0.0) + seconds
            if seconds > self._shortest:
                self._phase.append(self._numbers.setdefault(phase, len(self._numbers)))
                self._start.append(self._since)
                self._length.append(seconds)
                if len(self._start) >= MOST_STRETCHES:
                    self._forget_shorter_half()
        self._since = now

    def _forget_shorter_half(self) -> None:
        self._shortest = float(np.median(self._length))
        kept = np.array(self._length) > self._shortest
        self._phase = array("i", np.array(self._phase)[kept].tolist())
        self._start = array("d", np.array(self._start)[kept].tolist())
        self._length = array("d", np.array(self._length)[kept].tolist())
