"""Adds up what loops of Keras spend on batches, steps, callbacks, validation and saving."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import get_ident
from time import perf_counter
from typing import Any

from tfprof_widget.profiles.cell import BETWEEN, NEXT_BATCH, SAVING, STEP, VALIDATION, CodeLine, FitPhase


class PhaseClock:
    """The time of each phase of Keras' loops in one thread, without the phases within it.

    What happens within a validation belongs to it. Saving is counted where no loop is under way, too.

    >>> phases = PhaseClock(iter([0.0, 1.0, 3.0, 3.5]).__next__)
    >>> loop, step = phases.enter(BETWEEN), phases.enter(STEP)
    >>> phases.leave(step), phases.leave(loop)
    (None, None)
    >>> [(phase.name, phase.nanos) for phase in phases.found()]
    [('step', 2000000000), ('between', 1500000000)]
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._thread = 0
        self._stack: list[str] = []
        self._since = 0.0
        self._seconds: dict[str, float] = {}
        self._times: dict[str, int] = {}
        self._lines: dict[str, CodeLine] = {}

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

    def _count(self) -> None:
        now = self._clock()
        if self._stack:
            phase = self._stack[-1]
            self._seconds[phase] = self._seconds.get(phase, 0.0) + now - self._since
        self._since = now
