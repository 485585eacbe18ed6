"""Describes the runs of a cell to the browser, compares two groups of them, and runs their code again, in turns."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol

from tfprof_widget.analysis.comparing.aligned import BY
from tfprof_widget.analysis.comparing.change import Change, median_interval
from tfprof_widget.analysis.comparing.compared import ComparedRuns
from tfprof_widget.lib.errors import value_error
from tfprof_widget.lib.text import visible
from tfprof_widget.output.compared import change_json, differences_lines, headline_spans, row_json, sentence
from tfprof_widget.profiles.kept_run import KeptRun

MOST_ROWS = 100
MOST_OPS = 5000
"""With more ops the comparison is not made before somebody looks at it."""

PAUSE = 0.02
"""Between two blocks of a race the kernel has so long to hear what the browser says."""

Compare = Callable[[Sequence[KeptRun], Sequence[KeptRun]], ComparedRuns]
Tell = Callable[[dict[str, Any]], None]


class Turns(Protocol):
    """A race that goes on block by block; `tfprof_widget.api.race.Racing` is one."""

    @property
    def rounds(self) -> int:
        """How many are complete."""

    @property
    def share(self) -> float:
        """How much of its time it has had."""

    @property
    def found(self) -> ComparedRuns:
        """What is known so far."""

    @property
    def control(self) -> Change:
        """The first of the two against itself."""

    def step(self) -> bool:
        """Run the next block; False once the race is over."""

    def stop(self) -> None:
        """Run no more blocks."""


Rerun = Callable[[KeptRun, KeptRun], Turns]
"""Gives a race of the code of two runs."""


@dataclass(frozen=True, eq=False)
class ShownHistory:
    """The runs of a cell to show, the oldest first; `compare` compares two groups of them.

    `rerun` gives a race of the code of two runs; None where nothing can run it. `before` and `after` are the places of
    the runs that are compared at first, none if there is one run only. `given` is their comparison, if it was made
    before.
    """

    runs: tuple[KeptRun, ...]
    compare: Compare = ComparedRuns
    rerun: Rerun | None = None
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    given: ComparedRuns | None = None

    @classmethod
    def of(cls, runs: Sequence[KeptRun], compare: Compare = ComparedRuns, rerun: Rerun | None = None) -> ShownHistory:
        """The runs of a cell; the last ones of the same code are compared with those of other code before them.

        >>> runs = [KeptRun(source=source) for source in ("f(1)", "f(1)", "f(2)", "f(3)", "f(3)")]
        >>> shown = ShownHistory.of(runs)
        >>> shown.before, shown.after
        ((2,), (3, 4))
        """
        places = [[place for place, _ in group] for _, group in groupby(enumerate(runs), lambda each: each[1].source)]
        if len(places) > 1:
            return cls(tuple(runs), compare, rerun, tuple(places[-2]), tuple(places[-1]))
        own = places[0] if places else []
        return cls(tuple(runs), compare, rerun, tuple(own[:-1]), tuple(own[-1:]) if len(own) > 1 else ())

    @classmethod
    def of_comparison(cls, compared: ComparedRuns) -> ShownHistory:
        """The runs of a comparison."""
        count = len(compared.before)
        runs = (*compared.before, *compared.after)
        return cls(runs, ComparedRuns, None, tuple(range(count)), tuple(range(count, len(runs))), compared)

    @cached_property
    def to_browser(self) -> Mapping[str, Any]:
        """What js/src/data/history.ts reads."""
        is_quick = self.given is not None or max((len(run.ops) for run in self.runs), default=0) <= MOST_OPS
        return {
            "runs": [_run(run) for run in self.runs],
            "before": list(self.before),
            "after": list(self.after),
            "comparison": self.described(self.before, self.after) if is_quick and self.before else None,
        }

    def described(self, before: Sequence[int], after: Sequence[int]) -> Mapping[str, Any]:
        """The comparison of runs at some places."""
        sides = self._sides(before, after)
        is_given = self.given is not None and (tuple(before), tuple(after)) == (self.before, self.after)
        compared = self.given if is_given and self.given is not None else self.compare(*sides)
        return self._told(compared, before, after)

    def race(self, before: Sequence[int], after: Sequence[int], tell: Tell) -> RunningRace:
        """Run the code of the last run of either side again, in turns, and tell how it goes and what comes of it."""
        one, other = (side[-1] for side in self._sides(before, after))
        if self.rerun is None or not _differ(one, other):
            raise value_error("history: there is no other code to run; choose two runs whose code differs")
        turns = self.rerun(one, other)

        def told() -> Mapping[str, Any]:
            how = f"{one.title} and {other.title} ran in turns, {turns.rounds} round{'s' * (turns.rounds != 1)}"
            control = f"of {one.title} against itself in the same turns: {turns.control.verdict}"
            return {**self._told(turns.found, before, after), "raced": sentence(f"{how}; {control}")}

        return RunningRace(turns, told, tell)

    def _sides(self, before: Sequence[int], after: Sequence[int]) -> list[list[KeptRun]]:
        places = (*before, *after)
        if not (before and after) or not all(0 <= place < len(self.runs) for place in places):
            raise value_error("history: choose runs on both sides")
        return [[self.runs[place] for place in side] for side in (before, after)]

    def _told(self, compared: ComparedRuns, before: Sequence[int], after: Sequence[int]) -> Mapping[str, Any]:
        """A comparison as the browser gets it, of runs at some places."""
        one, other = (side[-1] for side in self._sides(before, after))
        tables = {by: compared.table(by) for by in BY}
        shown = {by: [row_json(each, row) for row in range(min(len(each), MOST_ROWS))] for by, each in tables.items()}
        return {
            "before": list(before),
            "after": list(after),
            "sentence": [list(span) for span in headline_spans(compared)],
            "notes": differences_lines(compared),
            "step": change_json(compared.step),
            "cell": {**change_json(compared.cell), "text": sentence(compared.cell.text("the whole cell"))},
            "parts": [{"name": name, **change_json(part)} for name, part in compared.parts.items()],
            "tables": shown,
            "rows": {by: len(table) for by, table in tables.items()},
            "diff": _diff(one, other),
            "rival": one.label,
            "can_race": self.rerun is not None and _differ(one, other),
            "raced": "",
        }


class RunningRace:
    """A race between the kernel's messages: after each block the kernel's loop has its turn, and hears of a stop."""

    def __init__(self, turns: Turns, describe: Callable[[], Mapping[str, Any]], tell: Tell) -> None:
        self._turns, self._describe, self._tell = turns, describe, tell
        self.is_over = False

    def start(self) -> None:
        """Begin; where no loop runs, as in some front ends, the race is over when this returns."""
        try:
            asyncio.get_running_loop().call_soon(self._go_on)
        except RuntimeError:
            while not self.is_over:
                self.run_block()

    def stop(self) -> None:
        """Run no more blocks, and tell what is known."""
        self._turns.stop()

    def _go_on(self) -> None:
        self.run_block()
        if not self.is_over:
            asyncio.get_running_loop().call_later(PAUSE, self._go_on)

    def run_block(self) -> None:
        """Run the next block, and tell how far the race is, or what came of it."""
        try:
            with _interruptible():
                self.is_over = not self._turns.step()
            if self.is_over:
                self._tell({"answer": "raced", "comparison": self._describe()})
            else:
                self._tell({"answer": "race", "share": self._turns.share, "rounds": self._turns.rounds})
        except (Exception, KeyboardInterrupt) as error:
            self.is_over = True
            self._tell({"answer": "race failed", "reason": f"the race ended: {type(error).__name__}: {error}"})


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let an interrupt of the kernel end the block: outside cells kernels ignore interrupts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _differ(before: KeptRun, after: KeptRun) -> bool:
    """Whether both runs have their code, and not the same."""
    return bool(before.source and after.source) and before.source != after.source


def _diff(before: KeptRun, after: KeptRun) -> list[str]:
    sources = (before.source.splitlines(), after.source.splitlines())
    return list(unified_diff(*sources, before.title, after.title, lineterm=""))


def _run(run: KeptRun) -> dict[str, Any]:
    seconds = run.step_seconds if len(run.step_seconds) else run.traced_seconds
    median, low, high = median_interval(seconds)
    known = median == median
    return {
        "title": visible(run.title),
        "name": visible(run.name) if run.label else "",
        "taken": f"{run.taken:%Y-%m-%d %H:%M:%S} UTC" if run.taken else "",
        "seconds": median if known else None,
        "low": low if known else None,
        "high": high if known else None,
        "steps": len(seconds),
        "cell": run.cell_seconds if run.cell_seconds == run.cell_seconds else None,
        "version": hash(run.source) & 0xFFFFFFFF,
    }
