"""Captures what a block or a function runs: `with capture() as prof`, `@capture`; and the last capture of all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator, ExitStack
from dataclasses import replace
from heapq import nlargest
from operator import itemgetter
from typing import Any, TypeVar, overload

from tfprof_widget.capturing.function_hooks import hooked_functions
from tfprof_widget.capturing.function_recorder import FunctionRecorder
from tfprof_widget.capturing.interrupts import interrupted_later
from tfprof_widget.capturing.printed import ran_on_cpus
from tfprof_widget.capturing.recorded import Recorded, joined
from tfprof_widget.capturing.recorder import Recorder
from tfprof_widget.capturing.result import Capture
from tfprof_widget.capturing.sampling import EVERYTHING, Adaptive, Every, Policy, Steps
from tfprof_widget.capturing.sessions import hooked_sessions
from tfprof_widget.capturing.tracebacks import without_hooks
from tfprof_widget.ingest.devices import MISSING_STREAMS

Function = TypeVar("Function", bound=Callable[..., Any])

CPU_MEMORY = (
    "on the CPU, TensorFlow's profiler tells of the memory of large tensors only, "
    "so the bytes of functions, Keras steps and eager ops are too low"
)

# A capture is kept here when it is over, as IPython keeps the last value: for who forgot to name it.
_LAST: list[Capture] = []


@overload
def capture(function: Function) -> Function: ...
@overload
def capture(
    *,
    name: str = "",
    overhead: float | None = None,
    every: int | None = None,
    steps: Any = None,
    trace_all: bool = False,
) -> Capturing: ...
def capture(function: Any = None, *, name: str = "", **sampling: Any) -> Any:
    """Profile what TensorFlow runs in a block, or in each call of a function.

    At most one of these says what is traced: `overhead` is the share of the untraced time that tracing may cost (if
    not given 0.1, or half a second if that is more), `every` traces each so-many-th run of a kind, `steps` a range
    of them, as `range(10, 20)`, `trace_all` all.

    >>> with capture(name="nothing") as prof:
    ...     pass
    >>> prof.measurement.runs_seen
    0
    """
    if function is not None:
        if not callable(function):
            raise ValueError(
                f"capture: {function!r} is no function; write `with capture() as prof:`, or @capture above a def"
            )
        return Capturing(getattr(function, "__name__", ""), policy(**sampling))(function)
    return Capturing(name, policy(**sampling))


def last() -> Capture | None:
    """The capture that ended last, None before the first.

    >>> with capture() as prof:
    ...     pass
    >>> last() is prof
    True
    """
    return _LAST[-1] if _LAST else None


def remember(capture: Capture | None) -> None:
    """Let this be the capture that ended last, or none.

    >>> remember(None)
    >>> last() is None
    True
    """
    _LAST[:] = [] if capture is None else [capture]


class Capturing(ContextDecorator, AbstractContextManager[Capture]):
    """What can be entered: each time it gives a Capture of its own, which is filled when the block is over."""

    def __init__(self, name: str, policy: Policy) -> None:
        self.name, self.policy = name, policy
        self._open: list[tuple[Capture, ExitStack, Recorder, FunctionRecorder]] = []

    def __enter__(self) -> Capture:
        sessions, functions = Recorder(self.policy), FunctionRecorder(self.policy)
        capture = Capture()
        with ExitStack() as entered:  # undone at once where entering fails half-way
            with interrupted_later():
                entered.enter_context(hooked_sessions(sessions))
                entered.enter_context(hooked_functions(functions))
                entered.enter_context(sessions.own_thread.opened())
                entered.enter_context(functions.own_thread.opened())
            stack = entered.pop_all()
        capture.counting(
            lambda: tuple(map(sum, zip(sessions.counts(), functions.counts(), strict=True))),
            lambda limit: _costliest(sessions, functions, limit),
        )
        self._open.append((capture, stack, sessions, functions))
        return capture

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        without_hooks(error)
        capture, stack, sessions, functions = self._open.pop()
        try:
            with interrupted_later():
                stack.close()
            recorded = _with_streams_noted(joined(sessions.recorded(), _with_memory_noted(functions.recorded())))
            capture.finish(_explained(recorded), self.name)
        except BaseException as own:
            capture.finish(Recorded((), 0.0, None, 0, (_lost(own),)), self.name)
            if not isinstance(own, Exception):  # one of ours must not take the place of the user's
                raise
        finally:
            remember(capture)


def policy(
    overhead: float | None = None, every: int | None = None, steps: Any = None, trace_all: bool = False
) -> Policy:
    """What to trace, from the arguments of `capture`.

    >>> policy(every=10), policy(steps=range(10, 20))
    (Every(count=10), Steps(start=10, stop=20))
    >>> policy(every=2, overhead=0.1)
    Traceback (most recent call last):
        ...
    ValueError: overhead and every exclude each other: give one of overhead, every, steps, trace_all
    """
    given = {
        "overhead": overhead is not None,
        "every": every is not None,
        "steps": steps is not None,
        "trace_all": trace_all,
    }
    named = [name for name, is_given in given.items() if is_given]
    if len(named) > 1:
        raise ValueError(f"{' and '.join(named)} exclude each other: give one of {', '.join(given)}")
    if trace_all:
        return EVERYTHING
    if every is not None:
        return Every(every)
    if steps is not None:
        return _range(steps)
    return Adaptive() if overhead is None else Adaptive(overhead, allowance=0.0)


def _range(steps: Any) -> Steps:
    if isinstance(steps, range | slice):
        if steps.step not in (None, 1):
            raise ValueError(f"steps: {steps} skips runs; give every=... for that")
        return Steps(steps.start or 0, steps.stop)
    try:
        start, stop = steps
    except (TypeError, ValueError):
        raise ValueError(f"steps: {steps!r} is no range; give range(10, 20), or (10, 20)") from None
    return Steps(start or 0, stop)


def _costliest(sessions: Recorder, functions: FunctionRecorder, limit: int) -> list[tuple[str, float]]:
    """The ops that cost most a run, wherever they ran."""
    return nlargest(limit, sessions.costliest(limit) + functions.costliest(limit), key=itemgetter(1))


def _lost(error: BaseException) -> str:
    """Says that nothing is left of a capture."""
    if isinstance(error, KeyboardInterrupt):
        return "all of it was lost, for it was interrupted while it was read."
    return (
        f"all of it was lost at the end, by an error of tfprof_widget itself ({type(error).__name__}: {error}): "
        "please report this"
    )


def _with_memory_noted(functions: Recorded) -> Recorded:
    """What was recorded of functions, and that it lacks memory where no accelerator took part."""
    if not functions.traced or not all(ran_on_cpus(graph.profile) for graph in functions.graphs):
        return functions
    return replace(functions, warnings=(*functions.warnings, CPU_MEMORY))


def _with_streams_noted(recorded: Recorded) -> Recorded:
    """What was recorded, and that a GPU's kernels are missing where they are."""
    if not any(graph.profile.misses_accelerator_stream for graph in recorded.graphs):
        return recorded
    return replace(recorded, warnings=(*recorded.warnings, MISSING_STREAMS))


def _explained(recorded: Recorded) -> Recorded:
    """The recording with a reason and a way out where nothing was captured and nobody said why."""
    if recorded.traced or recorded.warnings:
        return recorded
    if "tensorflow" not in sys.modules:
        reason = (
            "TensorFlow was not imported. If the work ran in another process, profile there: "
            "put `with tfprof_widget.capture():` into what it runs."
        )
    elif recorded.seen:
        reason = (
            f"{recorded.seen:,} runs were seen, but none was among those to trace. "
            "Ask for earlier ones with steps (--steps 0:10), or for all (--all)."
        )
    else:
        reason = (
            "no session ran, no function and no Keras step was called here. If the work ran in another process or "
            "had been started before, put the call that runs it into the cell or block."
        )
    return Recorded(recorded.graphs, recorded.wall_seconds, recorded.overhead_seconds, 0, (reason,))
