"""Captures what a block or a function runs, by `with capture() as prof` or `@capture`; remembers the last capture."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator, ExitStack, nullcontext, suppress
from dataclasses import replace
from typing import Any, TypeVar, overload

from tfprof_widget.api.captured import cell_name
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.cell_log import CellLog
from tfprof_widget.capturing.function_hooks import hooked_functions
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.hooks import without_hooks
from tfprof_widget.capturing.kept_code import KeptCode, keeping_code
from tfprof_widget.capturing.live import LiveWatch
from tfprof_widget.capturing.python_sampler import looking
from tfprof_widget.capturing.recording import Recording, joined
from tfprof_widget.capturing.sampling import Policy, policy
from tfprof_widget.capturing.session_hooks import hooked_sessions
from tfprof_widget.capturing.session_source import SessionSource
from tfprof_widget.capturing.surroundings import LoadClock, Surroundings, fingerprint
from tfprof_widget.lib.errors import value_error
from tfprof_widget.lib.safely import Interrupts, deliver_interrupt, hold_interrupts, release_interrupts
from tfprof_widget.profiles.devices import CPU_MEMORY, MISSING_STREAMS, ran_on_cpus

Function = TypeVar("Function", bound=Callable[..., Any])

# The capture that ended last, as IPython keeps the last value: for users who forgot to name it.
_LAST: list[Capture] = []
# The captures whose blocks are not left yet, in any thread.
_OPEN: list[_OpenCapture] = []


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

    Give at most one of the options that say what is traced. `overhead` is the share of the untraced time that tracing
    may cost; without it, that is a thirtieth, or 0.1 s if that is more. `every=10` traces every tenth run of a kind,
    `steps=range(10, 20)` the runs 10 to 19 of a kind, `trace_all` all runs. With `collectives`, ops are recorded also
    in functions in which several workers or devices reduce together. By default only the times of their steps are
    taken, since TensorFlow's profiler may crash the process there.

    >>> with capture(name="nothing") as prof:
    ...     pass
    >>> prof.measurement.runs_seen
    0
    """
    if function is not None:
        if not callable(function):
            raise value_error(
                f"capture: {function!r} is no function; write `with capture() as prof:`, or @capture above a def"
            )
        return Capturing(getattr(function, "__name__", ""), policy(**sampling), collectives)(function)
    return Capturing(name, policy(**sampling), collectives)


def last() -> Capture | None:
    """The capture that ended last; None before the first has ended.

    >>> with capture() as prof:
    ...     pass
    >>> last() is prof
    True
    """
    return _LAST[-1] if _LAST else None


def remember(capture: Capture | None) -> None:
    """Let this be what `last()` gives."""
    _LAST[:] = [] if capture is None else [capture]


def is_capturing() -> bool:
    """Whether a capture is open in this process.

    >>> with capture():
    ...     is_capturing()
    True
    >>> is_capturing()
    False
    """
    return bool(_OPEN)


class Capturing(ContextDecorator, AbstractContextManager[Capture]):
    """The context that `capture()` gives; each time it is entered it gives a new Capture, filled after the block."""

    def __init__(self, name: str, policy: Policy, collectives: bool = False) -> None:
        self.name, self.policy, self.collectives = name, policy, collectives
        self._open: list[_OpenCapture] = []

    def __enter__(self) -> Capture:
        log = CellLog()
        interrupts = hold_interrupts()
        try:
            opened = _OpenCapture(log, interrupts, self.policy, self.name, collectives=self.collectives)
            with opened.hooks:  # taken out at once if entering fails or is interrupted
                opened.hook()
                deliver_interrupt()
                opened.hooks = opened.hooks.pop_all()
        except BaseException:
            release_interrupts(interrupts)
            raise
        self._open.append(opened)
        _OPEN.append(opened)
        log.opened = log.clock()
        return opened.capture

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if not self._open:
            return  # left before, as by an ExitStack and by hand
        opened = self._open.pop()
        _OPEN.remove(opened)
        capture, log = opened.capture, opened.log
        log.closing = log.clock()
        try:
            without_hooks(error)
            opened.hooks.close()
            surroundings = Surroundings(fingerprint(self.policy), opened.load.others_cores())
            with opened.interrupts.allowed() if opened.interrupts is not None else nullcontext():
                capture.finish(_explained(opened.recorded()), self.name, log.nanos, surroundings)
        except BaseException as own:
            capture.finish(Recording((), 0.0, None, 0, (_lost(own),)), self.name)
            if not isinstance(own, Exception):  # an error of our own must not replace the user's
                raise
        finally:
            remember(capture)
            release_interrupts(opened.interrupts)

    def so_far(self) -> Capture | None:
        """A capture of what was recorded so far, while the block goes on; None outside of it. Any thread may ask.

        >>> with (capturing := capture(name="nothing")) as prof:
        ...     capturing.so_far().measurement.runs_seen
        0
        >>> capturing.so_far()
        """
        if not self._open:
            return None
        opened, found = self._open[-1], Capture()
        surroundings = Surroundings(fingerprint(self.policy), opened.load.others_cores())
        found.finish(_explained(opened.so_far()), self.name, None, surroundings)
        return found

    def trace_next(self, steps: int) -> None:
        """Trace the next steps, so many of each kind, whatever that costs. Any thread may ask for them."""
        for opened in self._open[-1:]:
            opened.sessions.trace_next(steps)
            opened.functions.trace_next(steps)

    @property
    def has_traced(self) -> bool:
        """Whether steps that were asked for by `trace_next` are over."""
        sources = [source for opened in self._open[-1:] for source in (opened.sessions, opened.functions)]
        return any(source.sampler.has_answered for source in sources)


class _OpenCapture:
    """The hooks and recorders of a capture between entering and leaving its block."""

    def __init__(
        self, log: CellLog, interrupts: Interrupts | None, policy: Policy, name: str, *, collectives: bool
    ) -> None:
        self.log = log
        self.interrupts = interrupts
        self.kept_code = KeptCode()
        self.sessions = SessionSource(policy, kept=self.kept_code.positions)
        self.functions = FunctionSource(policy, collectives=collectives, kept=self.kept_code.positions)
        log.sources += [self.sessions, self.functions]
        self.watch = LiveWatch(name, log, (self.sessions, self.functions))
        self.sessions.log = self.functions.log = log
        self.capture = Capture()
        self.load = LoadClock()
        self.hooks = ExitStack()

    def hook(self) -> None:
        """Put the hooks in."""
        sessions, functions, enter = self.sessions, self.functions, self.hooks.enter_context
        self.hooks.callback(functions.windows.is_over.set)  # also where reading what was recorded fails
        enter(hooked_sessions(sessions))
        enter(hooked_functions(functions))
        enter(keeping_code(self.kept_code))
        enter(looking(self.log.sampler, self.log.thread_to_see))
        enter(sessions.opening_thread.opened())
        enter(functions.opening_thread.opened())
        self.capture.follow(self.watch.state)

    def recorded(self) -> Recording:
        """What was recorded of sessions and functions, with notes on what is missing."""
        return self._joined(self.sessions.recorded(), self.functions.recorded())

    def so_far(self) -> Recording:
        """The same of what was recorded so far; tried twice, as other threads may change a graph meanwhile."""
        with suppress(Exception):
            return self._joined(self.sessions.so_far(), self.functions.so_far())
        return self._joined(self.sessions.so_far(), self.functions.so_far())

    def _joined(self, sessions: Recording, functions: Recording) -> Recording:
        recorded = joined(sessions, _with_memory_noted(functions))
        return replace(_with_streams_noted(recorded), cells=(self.log.times(recorded.runs, cell_name),))


def _lost(error: BaseException) -> str:
    """The note that a whole capture was lost, and why."""
    if isinstance(error, KeyboardInterrupt):
        return "the whole recording was lost, since reading it was interrupted."
    return (
        "the whole recording was lost at the end, by an error of tfprof_widget itself "
        f"({type(error).__name__}: {error}): please report this"
    )


def _with_memory_noted(functions: Recording) -> Recording:
    """The recording of functions; if all ran on CPUs, with a note on the memory that it lacks."""
    if not functions.traced or not all(ran_on_cpus(graph.tables) for graph in functions.graphs):
        return functions
    return replace(functions, warnings=(*functions.warnings, CPU_MEMORY))


def _with_streams_noted(recorded: Recording) -> Recording:
    """The recording; if a GPU's kernels are missing in it, with a note on that."""
    if not any(graph.tables.misses_accelerator_stream for graph in recorded.graphs):
        return recorded
    return replace(recorded, warnings=(*recorded.warnings, MISSING_STREAMS))


def _explained(recorded: Recording) -> Recording:
    """The recording; if nothing was traced and no note says why, with a note on the reason and what to do."""
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
    return replace(recorded, warnings=(reason,))
