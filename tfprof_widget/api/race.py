"""Races two callables: runs them in turns until it is clear which is faster, or time is up."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from tfprof_widget.analysis.comparing.change import Change, paired_change
from tfprof_widget.api.capture import capture
from tfprof_widget.api.comparison import Comparison
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.text import fixed
from tfprof_widget.profiles.kept_run import KeptRun

SECONDS = 30.0

FEWEST_ROUNDS = 4
"""Fewer rounds do not tell how much rounds differ."""

LOOKS = 8
"""An answer that is looked for after round 4, 6, 9, ... may come by chance each time: so each look asks for more."""

NEXT_LOOK = 1.5
SMALL_ENOUGH = 1.02
"""No more rounds are needed once a difference of 2 % would have been seen."""

BLOCKS = 40
"""The time is for so many blocks of calls, if calls are short enough."""

LONGEST_BLOCK = 0.5
CAPTURED_ROUNDS = 3
"""In so many rounds, in a short race in one, each block is followed by calls whose ops are recorded."""

SHORT = 10.0
CAPTURED_SECONDS = 0.1

INTERRUPTED = "it was interrupted"
CONTROL_DIFFERS = "the control, the same code against itself in the same turns, differs too"


@dataclass
class _Runner:
    """One of the callables, and what is known of its calls so far: by block, the seconds of each call."""

    name: str
    call: Callable[[], Any]
    calls: int = 1
    blocks: list[list[float]] = field(default_factory=list)
    captured: list[KeptRun] = field(default_factory=list)

    def run_block(self, clock: Callable[[], float]) -> None:
        """Call it some times, and keep how long each call took."""
        times = []
        for _ in range(self.calls):
            began = clock()
            self.call()
            times.append(clock() - began)
        self.blocks.append(times)

    def run_captured(self) -> None:
        """Call it some times more with its ops recorded."""
        usual = float(np.median(self.blocks[-1]))
        with capture(name=self.name) as captured:
            for _ in range(max(round(CAPTURED_SECONDS / max(usual, 1e-9)), 1)):
                self.call()
        with suppress(ProfileError):  # it may run no ops
            self.captured.append(captured.kept_run)

    def runs(self, blocks: int) -> list[KeptRun]:
        """Its blocks as runs, each with the ops of a captured call, while there are some."""
        runs = [self.captured[place] if place < len(self.captured) else KeptRun() for place in range(blocks)]
        return [
            replace(run, name=self.name, step="a call", step_seconds=np.array(times), cell_seconds=np.nan, parts={})
            for run, times in zip(runs, self.blocks, strict=False)
        ]


class Race(Comparison):
    """What `race` gives: a comparison whose step is a call; `control` compares the first callable with itself.

    The control's runs took the same turns, so that it shows by how much the same code seems to differ.
    """

    subject = "a call"

    def __init__(self, runners: Sequence[_Runner], rounds: int, looks: int, note: str = "") -> None:
        self._runners, self.rounds, self._looks, self._note = runners, rounds, looks, note
        before, after = ([*runner.runs(2 * rounds)] or [KeptRun(name=runner.name)] for runner in runners)
        super().__init__(before, after)

    @cached_property
    def step(self) -> Change:
        """By how much a call changed: of the medians of blocks within each round, and rounds as observations."""
        logs = [_logs(runner, self.rounds) for runner in self._runners]
        ratios = logs[1].mean(axis=1) - logs[0].mean(axis=1)
        found = paired_change(ratios, logs[0].ravel(), logs[1].ravel(), self._looks)
        if self.control.verdict in ("slower", "faster") and found.verdict in ("slower", "faster"):
            return found.untold(CONTROL_DIFFERS)
        return replace(found, reason="; ".join(filter(None, [found.reason, self._note])))

    @cached_property
    def control(self) -> Change:
        """The first callable against itself: of every two rounds the outer blocks against the inner ones."""
        first = _logs(self._runners[0], self.rounds)
        pairs = first[: len(first) // 2 * 2].reshape(-1, 2, 2)
        one, other = pairs[:, 0, 0] + pairs[:, 1, 1], pairs[:, 0, 1] + pairs[:, 1, 0]
        return paired_change((other - one) / 2, one / 2, other / 2, self._looks)

    @property
    def is_open(self) -> bool:
        """Whether more rounds may tell more."""
        found = self.step
        return found.verdict not in ("slower", "faster") and not found.smallest < SMALL_ENOUGH


def _logs(runner: _Runner, rounds: int) -> Any:
    """The log median of the two blocks of each round."""
    medians = [float(np.median(times)) for times in runner.blocks[: 2 * rounds]]
    return np.log(np.array(medians).reshape(-1, 2))


class Racing:
    """A race that goes on block by block: `step` runs the next one, and `found` is what is known by then.

    >>> racing = Racing({"old": lambda: sum(range(3000)), "new": lambda: sum(range(1000))}, seconds=0.2)
    >>> while racing.step():
    ...     pass
    >>> racing.rounds >= 1, racing.found.before[0].name
    (True, 'old')
    """

    def __init__(
        self,
        callables: Mapping[str, Callable[[], Any]],
        seconds: float = SECONDS,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._runners = _checked(callables, seconds)
        self._seconds, self._clock = seconds, clock
        self._began = clock()
        self._blocks = self._turns()
        self._note = ""
        self.rounds = 0

    def step(self) -> bool:
        """Run the next block; False once the answer is clear, time is up, or Ctrl-C was pressed."""
        try:
            return next(self._blocks, None) is not None
        except KeyboardInterrupt:
            self.stop()
            return False

    def stop(self) -> None:
        """Run no more blocks; what is known stays."""
        self._blocks.close()
        self._note = INTERRUPTED

    @property
    def share(self) -> float:
        """How much of its time the race has had."""
        return min((self._clock() - self._began) / self._seconds, 1.0)

    @property
    def found(self) -> Race:
        """What is known so far."""
        return Race(self._runners, self.rounds, LOOKS, self._note)

    @property
    def control(self) -> Change:
        """The first callable against itself, so far."""
        return self.found.control

    def _turns(self) -> Generator[_Runner, None, None]:
        """Who ran, after each block and each call that comes before the first."""
        runners = self._runners
        for runner in runners:
            runner.call()  # which builds functions and tunes
            yield runner
            started = self._clock()
            runner.call()
            block = min(self._seconds / BLOCKS, LONGEST_BLOCK)
            runner.calls = max(round(block / max(self._clock() - started, 1e-9)), 1)
            yield runner
        looks = _looks()
        look = next(looks)
        with_ops = CAPTURED_ROUNDS if self._seconds >= SHORT else 1
        while True:
            for runner in (runners[0], runners[1], runners[1], runners[0]):
                runner.run_block(self._clock)
                if self.rounds < with_ops:
                    runner.run_captured()
                yield runner
            self.rounds += 1
            spent = self._clock() - self._began
            if self.rounds >= look:
                look = next(looks)
                if not Race(runners, self.rounds, LOOKS).is_open:
                    return
            if spent + spent / self.rounds > self._seconds:
                return


def race(
    callables: Mapping[str, Callable[[], Any]], seconds: float = SECONDS, *, clock: Callable[[], float] = perf_counter
) -> Race:
    """Run two callables in turns, and tell which is faster; the first one is `before`, the second one `after`.

    A round is a block of calls of the first, two of the second, and one more of the first: what slows the machine for
    a while slows both. Rounds are added while the answer is open and there is time. Ctrl-C gives what is there. Times
    are by the `clock`.

    >>> found = race({"old": lambda: sum(range(3000)), "new": lambda: sum(range(1000))}, seconds=0.5)
    >>> found.before[0].name, found.after[0].name, found.step.runs[0] >= 2
    ('old', 'new', True)
    """
    racing = Racing(callables, seconds, clock)
    try:
        while racing.step():
            pass
    except KeyboardInterrupt:  # between two blocks
        racing.stop()
    return racing.found


def _looks() -> Iterator[int]:
    """After which rounds the answer is looked for."""
    look = FEWEST_ROUNDS
    while True:
        yield look
        look = max(look + 1, int(look * NEXT_LOOK))


def _checked(callables: Mapping[str, Callable[[], Any]], seconds: float) -> list[_Runner]:
    if not isinstance(callables, Mapping) or len(callables) != 2 or not all(map(callable, callables.values())):
        raise value_error("race: give two callables by name, as in race({'old': f, 'new': lambda: g(x)})")
    if not 0 < seconds < 1e6:
        raise value_error(f"race: seconds is {fixed(seconds, 1)}, but must be above 0, as 30")
    return [_Runner(str(name), call) for name, call in callables.items()]
