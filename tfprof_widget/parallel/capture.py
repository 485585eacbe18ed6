"""Captures what code runs on engines: one capture, with a worker an engine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from tfprof_widget.capturing.context import policy, remember
from tfprof_widget.capturing.result import Capture
from tfprof_widget.capturing.sampling import Adaptive, Every, Policy, Steps
from tfprof_widget.parallel.cell_run import CellRun, Ran
from tfprof_widget.parallel.clusters import Engines, reached
from tfprof_widget.parallel.joining import joined


def capture_engines(view: Any, code: str, *, name: str = "", **sampling: Any) -> Capture:
    """Profile what code runs on the engines of an ipyparallel view, client or cluster, as `%%tfprof --engines` does.

    The code runs in the engines' own variables. `sampling` and `collectives` say what is traced, as for `capture`. Code
    that fails on some engines is noted in the capture; what fails on all is raised, and `last()` has the capture.

    >>> capture_engines("rc", "train()")
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: engines: 'rc' is of the type str, ...
    """
    with ExitStack() as opened:
        run = cell_run(reached(view, opened), code, **sampling)
        outcomes = run.run()
    capture = joined_capture(outcomes, name)
    error = error_of(run, outcomes)
    if error is not None:
        raise error
    return capture


def cell_run(engines: Engines, code: str, *, collectives: bool = False, **sampling: Any) -> CellRun:
    """A run of code on engines, yet to begin.

    >>> cell_run(Engines(None, (0, 1)), "train()", every=10).was_interrupted
    False
    """
    daring = ["--collectives"] if collectives else []
    return CellRun(engines, code, " ".join(filter(None, [*daring, _arguments(policy(**sampling))])))


def joined_capture(outcomes: Sequence[Ran], name: str) -> Capture:
    """The capture of all engines, which is also the last one from now on."""
    capture = Capture.of(joined(outcomes), name)
    remember(capture)
    return capture


def error_of(run: CellRun, outcomes: Sequence[Ran]) -> BaseException | None:
    """What the code is to end with here: an interrupt, or the error that it ended with on all engines."""
    if run.was_interrupted:
        return KeyboardInterrupt()
    if not all(ran.error for ran in outcomes):
        return None
    from tfprof_widget.parallel.failure import failure

    return failure(outcomes)


def _arguments(traced: Policy) -> str:
    """What to trace, as the arguments of `%%tfprof`; none stand for its default.

    >>> _arguments(Every(1)), _arguments(Steps(10)), _arguments(Adaptive(0.05, 0)), _arguments(Adaptive())
    ('--every=1', '--steps=10:', '--overhead=0.05', '')
    """
    match traced:
        case Steps(start, stop):
            return f"--steps={start}:{'' if stop is None else stop}"
        case Every(count):
            return f"--every={count}"
        case Adaptive(overhead, allowance):
            return "" if allowance else f"--overhead={overhead}"
