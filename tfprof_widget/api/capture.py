"""Captures what a block or a function runs: `with capture() as prof`, `@capture`; and the last capture of all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator, ExitStack, nullcontext
from dataclasses import replace
from heapq import nlargest
from operator import itemgetter
from typing import Any, TypeVar, overload

from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.function_hooks import hooked_functions
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.hooks import without_hooks
from tfprof_widget.capturing.kept_code import KeptCode, keeping_code
from tfprof_widget.capturing.recording import Recording, joined
from tfprof_widget.capturing.sampling import Policy, policy
from tfprof_widget.capturing.session_hooks import hooked_sessions
from tfprof_widget.capturing.session_source import SessionSource
from tfprof_widget.lib.safely import Interrupts, deliver_interrupt, hold_interrupts, release_interrupts
from tfprof_widget.profiles.devices import MISSING_STREAMS, ran_on_cpus

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
    collectives: bool = False,
) -> Capturing: ...
def capture(function: Any = None, *, name: str = "", collectives: bool = False, **sampling: Any) -> Any:
    """Profile what TensorFlow runs in a block, or in each call of a function.

    At most one of these says what is traced: `overhead` is the share of the untraced time that tracing may cost (if
    not given 0.1, or half a second if that is more), `every` traces each so-many-th run of a kind, `steps` a range
    of them, as `range(10, 20)`, `trace_all` all. With `collectives` ops are recorded also where workers reduce
    together; TensorFlow's profiler may crash the process then, so that else only the times of such steps are taken.

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
        return Capturing(getattr(function, "__name__", ""), policy(**sampling), collectives)(function)
    return Capturing(name, policy(**sampling), collectives)


def last() -> Capture | None:
    """The capture that ended last, None before the first.

    >>> with capture() as prof:
    ...     pass
    >>> last() is prof
    True
    """
    return _LAST[-1] if _LAST else None


def remember(capture: Capture | None) -> None:
    """Let this be the capture that ended last, or none."""
    _LAST[:] = [] if capture is None else [capture]


class Capturing(ContextDecorator, AbstractContextManager[Capture]):
    """What can be entered: each time it gives a Capture of its own, which is filled when the block is over."""

    def __init__(self, name: str, policy: Policy, collectives: bool = False) -> None:
        self.name, self.policy, self.collectives = name, policy, collectives
        self._open: list[_AtWork] = []

    def __enter__(self) -> Capture:
        interrupts = hold_interrupts()
        try:
            opened = _AtWork(interrupts, self.policy, collectives=self.collectives)
            with opened.hooks:  # undone at once where entering fails half-way, or is interrupted
                opened.hook()
                deliver_interrupt()
                opened.hooks = opened.hooks.pop_all()
        except BaseException:
            release_interrupts(interrupts)
            raise
        self._open.append(opened)
        return opened.capture

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        opened = self._open.pop()
        capture = opened.capture
        try:
            without_hooks(error)
            opened.hooks.close()
            with opened.interrupts.allowed() if opened.interrupts is not None else nullcontext():
                capture.finish(_explained(opened.recorded()), self.name)
        except BaseException as own:
            capture.finish(Recording((), 0.0, None, 0, (_lost(own),)), self.name)
            if not isinstance(own, Exception):  # one of ours must not take the place of the user's
                raise
        finally:
            remember(capture)
            release_interrupts(opened.interrupts)


class _AtWork:
    """What is at work between entering and leaving."""

    def __init__(self, interrupts: Interrupts | None, policy: Policy, *, collectives: bool) -> None:
        self.interrupts = interrupts
        self.kept_code = KeptCode()
        self.sessions = SessionSource(policy, kept=self.kept_code.positions)
        self.functions = FunctionSource(policy, collectives=collectives, kept=self.kept_code.positions)
        self.capture = Capture()
        self.hooks = ExitStack()

    def hook(self) -> None:
        """Put the hooks in."""
        sessions, functions, enter = self.sessions, self.functions, self.hooks.enter_context
        enter(hooked_sessions(sessions))
        enter(hooked_functions(functions))
        enter(keeping_code(self.kept_code))
        enter(sessions.opening_thread.opened())
        enter(functions.opening_thread.opened())
        self.capture.counting(
            lambda: tuple(map(sum, zip(sessions.counts(), functions.counts(), strict=True))),
            lambda limit: _costliest(sessions, functions, limit),
        )

    def recorded(self) -> Recording:
        """What sessions and functions ran, with what is missing."""
        return _with_streams_noted(joined(self.sessions.recorded(), _with_memory_noted(self.functions.recorded())))


def _costliest(sessions: SessionSource, functions: FunctionSource, limit: int) -> list[tuple[str, float]]:
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


def _with_memory_noted(functions: Recording) -> Recording:
    """What was recorded of functions, and that it lacks memory where no accelerator took part."""
    if not functions.traced or not all(ran_on_cpus(graph.tables) for graph in functions.graphs):
        return functions
    return replace(functions, warnings=(*functions.warnings, CPU_MEMORY))


def _with_streams_noted(recorded: Recording) -> Recording:
    """What was recorded, and that a GPU's kernels are missing where they are."""
    if not any(graph.tables.misses_accelerator_stream for graph in recorded.graphs):
        return recorded
    return replace(recorded, warnings=(*recorded.warnings, MISSING_STREAMS))


def _explained(recorded: Recording) -> Recording:
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
    return Recording(recorded.graphs, recorded.wall_seconds, recorded.overhead_seconds, 0, (reason,))
