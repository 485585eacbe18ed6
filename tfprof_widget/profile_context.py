"""Offers ProfileContext, which profiles and dumps chosen steps of a session loop without changing the loop."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tfprof_widget.capturing.schedule import (
    MAX_TRACED_STEPS,
    WARMUP_STEPS,
    Schedule,
    StepRecorder,
    StepRun,
    checked_steps,
)
from tfprof_widget.capturing.session_hooks import hooked_sessions
from tfprof_widget.ingest.live.graph import default_graph
from tfprof_widget.lib.errors import ProfileError, ProfileWarning, value_error
from tfprof_widget.lib.messages import as_message
from tfprof_widget.lib.safely import Interrupts, deliver_interrupt, hold_interrupts, release_interrupts, write_whole
from tfprof_widget.lib.urls import file_system, is_url, joined
from tfprof_widget.model_analyzer import Profiler
from tfprof_widget.option_builder import of_mapping
from tfprof_widget.output.destination import parse_output
from tfprof_widget.profiles.options import Options, check_view

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import GraphNodeProto, MultiGraphNodeProto

__all__ = ["MAX_TRACED_STEPS", "WARMUP_STEPS", "ProfileContext"]

NO_SESSION = (
    "no session ran in this ProfileContext, so there is nothing in it; "
    "for functions, Keras and eager code use `with tfprof_widget.capture()`"
)
TOO_FEW = (
    f"without trace_steps the first {WARMUP_STEPS + 1} runs are not traced, and there were no others; "
    "give trace_steps, such as range(10)"
)


def shortcomings(
    schedule: Schedule, untraceable: Iterable[str], shown: Iterable[int], dumps: Iterable[str]
) -> Iterator[str]:
    """The warnings at the end; `shown` are the steps at which views were asked for, `dumps` the files written last.

    >>> list(shortcomings(Schedule([3], [5]), [], [], []))[0]
    'no session ran in this ProfileContext, so there is nothing in it; for functions, Keras ...
    """
    yield from (f"some runs were not traced: {reason}" for reason in untraceable)
    if not schedule.steps:
        yield NO_SESSION
        return
    if schedule.is_automatic and not schedule.traced:
        yield TOO_FEW
    elif schedule.trace_steps and not schedule.traced:
        yield f"{_ended(schedule)} before any step that was to be traced: {_list(schedule.trace_steps)}"
    missed = schedule.missed(schedule.dump_steps)
    if missed and not schedule.dumps_rest:
        written = ", ".join(dumps)
        rest = f"what was traced is in {written}" if written else "nothing was traced that is not in an earlier file"
        yield f"{_ended(schedule)} before the profile was to be dumped at {_list(missed)}; {rest}"
    unshown = schedule.missed(shown)
    if unshown:
        yield f"{_ended(schedule)} before a view was to be shown at {_list(unshown)}"


def _ended(schedule: Schedule) -> str:
    return f"the loop ended with step {schedule.steps - 1},"


def _list(steps: Iterable[int]) -> str:
    """Some steps in words; of more than four only the first three.

    >>> _list(range(10, 100))
    'steps 10, 11, 12 … and 87 more'
    """
    first = sorted(set(steps))
    word = "step" if len(first) == 1 else "steps"
    more = f" … and {len(first) - 3} more" if len(first) > 4 else ""
    return f"{word} {', '.join(map(str, first[: 3 if more else 4]))}{more}"


class GraphProfiles:
    """The traced steps, with a Profiler for each graph: nodes of two graphs may have the same name.

    >>> from tfprof_widget.demo import recorded
    >>> profiles = GraphProfiles("/tmp/train_dir")
    >>> profiles.add(recorded("graph"), 5, recorded("run_meta"))
    >>> profiles.current.profile.steps
    (5,)
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = os.fspath(directory)
        self._profilers: dict[Any, Profiler] = {}
        self._undumped: dict[Any, int] = {}
        self._latest: Any = None

    @property
    def current(self) -> Profiler:
        """The Profiler of the graph traced last, else of the graph run first, else of the default graph."""
        return self._of(default_graph() if self._latest is None else self._latest)

    @property
    def coverage(self) -> float:
        """The share of the current graph's nodes that were seen to run."""
        profile = self.current.profile
        return len(set(profile.executions.node.tolist())) / max(len(profile.nodes), 1)

    def add(self, graph: Any, step: int, run_meta: bytes) -> None:
        """Add what the run of a step measured."""
        self._of(graph).add_step(step, run_meta)
        self._undumped[graph] = step
        self._latest = graph

    def ran(self, graph: Any) -> None:
        """Let this graph be the current one if none is yet."""
        if self._latest is None:
            self._latest = graph

    def dump(self, step: int) -> Iterator[str]:
        """Write the current profile under this step's number, and those of other graphs under their own last steps.

        Profiles of other graphs are written if they have traces that are in no file yet. Yields the name of each file
        when it is written.
        """
        for graph, as_of in {**self._undumped, self._latest: step}.items():
            path = self.path(f"profile_{as_of}")
            write_whole(path, self._of(graph).serialize_to_string())
            self._undumped.pop(graph, None)
            yield path

    def dump_rest(self) -> Iterator[str]:
        """Write the profiles that have traces that are in no file yet, each under its last step's number."""
        if self._latest in self._undumped:
            yield from self.dump(self._undumped[self._latest])

    def path(self, name: str) -> str:
        """The path of a file in the directory; makes the directory if there is none."""
        if not is_url(self.directory):
            try:
                Path(self.directory).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise _no_directory(self.directory, error.strerror or str(error)) from None
        return joined(self.directory, name)

    def _of(self, graph: Any) -> Profiler:
        if graph is None:
            return Profiler()
        if graph not in self._profilers:
            self._profilers[graph] = Profiler(graph)
        return self._profilers[graph]


def check_directory(directory: str | os.PathLike[str]) -> None:
    """Refuse a directory that cannot be written to, before anything is traced; it is made with the first file in it.

    >>> check_directory("/tmp/train_dir")
    >>> check_directory("/dev/null/train_dir")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: profile_dir: cannot make '/dev/null/train_dir': '/dev/null' is no directory; choose ...
    """
    if is_url(directory):
        file_system(os.fspath(directory), "write")
        return
    above = next(each for each in (Path(directory).absolute(), *Path(directory).absolute().parents) if each.exists())
    if not above.is_dir():
        raise _no_directory(directory, f"{str(above)!r} is no directory")
    if not os.access(above, os.W_OK | os.X_OK):
        raise _no_directory(directory, f"you may not write to {str(above)!r}")


def _no_directory(directory: str | os.PathLike[str], why: str) -> ProfileError:
    return ProfileError(
        f"profile_dir: cannot make {os.fspath(directory)!r}: {why}; choose a directory that you may write to"
    )


# Errors of a user's input or disk: the user is warned, and the rest goes on.
WARNED_OF = (ProfileError, ProfileWarning, ValueError, OSError)


class ProfileContext(AbstractContextManager["ProfileContext"]):
    """Traces steps of the loop in its block, and dumps and shows what was traced, without a change to the loop.

    A step is a session run, in whatever way it is made; the first is step 0.

    At each of `dump_steps`, a file `profile_<step>` with all that was traced so far is written to `profile_dir`; if the
    loop ends early, the rest is written at its end. Without `trace_steps`, runs of each kind are traced from step 11
    on until most of the graph was seen; without `dump_steps`, the profile is written at step 100 and at the end.
    If not `enabled`, nothing happens; `debug` prints what happens, and writes the RunMetadata of each traced step.

    >>> with ProfileContext("train_dir", trace_steps=range(10, 20), dump_steps=[20], enabled=False) as context:
    ...     pass  # train_loop()
    """

    def __init__(
        self,
        profile_dir: str | os.PathLike[str],
        trace_steps: Iterable[int] | None = None,
        dump_steps: Iterable[int] | None = None,
        enabled: bool = True,
        debug: bool = False,
    ) -> None:
        if enabled and not profile_dir:
            raise value_error("profile_dir: is empty; name the directory that the profiles are to be written to")
        self._enabled, self._debugs = enabled, debug
        self._schedule = Schedule(trace_steps, dump_steps) if enabled else Schedule((), ())
        self._profiles = GraphProfiles(profile_dir or "")
        self._asked: list[tuple[str, Mapping[str, Any], set[int]]] = []
        self._views: dict[str, dict[int, GraphNodeProto | MultiGraphNodeProto]] = {}
        self._held_back: list[str] = []
        self._hooks: ExitStack | None = None
        self._interrupts: Interrupts | None = None
        self._recorder = StepRecorder(self._schedule, self._ended, self._warn)

    @property
    def profiler(self) -> Profiler | None:
        """The Profiler with all steps traced so far; None if not enabled.

        If sessions of several graphs run, it is the Profiler of the graph traced last.
        """
        return self._profiles.current if self._enabled else None

    def add_auto_profiling(self, cmd: str, options: Mapping[str, Any], profile_steps: Iterable[int]) -> None:
        """Trace these steps, and after each of them show a view, with these options, of all that was traced so far.

        >>> context = ProfileContext("/tmp/train_dir", trace_steps=[], dump_steps=[])
        >>> context.add_auto_profiling("op", {"select": ["micros"], "order_by": "micros"}, [15, 18, 20])
        """
        parse_output(Options.of(**of_mapping(options)).output)
        steps = checked_steps("profile_steps", profile_steps)
        self._asked.append((check_view(cmd), options, steps))
        self._schedule.trace(steps)

    def get_profiles(self, cmd: str) -> dict[int, GraphNodeProto | MultiGraphNodeProto]:
        """What `add_auto_profiling` found for a view, by step.

        >>> ProfileContext("/tmp/train_dir", [], []).get_profiles("op")
        Traceback (most recent call last):
            ...
        ValueError: cmd: there is no 'op' profile; ask for some with add_auto_profiling, at steps that are reached
        """
        if cmd not in self._views:
            raise value_error(
                f"cmd: there is no {cmd!r} profile; ask for some with add_auto_profiling, at steps that are reached"
            )
        return self._views[cmd]

    def trace_next_step(self) -> None:
        """Trace the step that begins next, whatever else was asked for."""
        self._schedule.trace_next()

    def dump_next_step(self) -> None:
        """Write the profile when the step that begins next is over."""
        self._schedule.dump_next()

    def __enter__(self) -> ProfileContext:
        if not self._enabled:
            return self
        if self._hooks is not None:
            raise ProfileError("this ProfileContext is entered already; make another one to have two")
        if self._schedule.dump_steps:
            check_directory(self._profiles.directory)
        self._recorder = StepRecorder(self._schedule, self._ended, self._warn)
        self._interrupts = hold_interrupts()
        try:
            with ExitStack() as hooks:
                hooks.enter_context(hooked_sessions(self._recorder))
                deliver_interrupt()
                self._hooks = hooks.pop_all()
        except BaseException:
            release_interrupts(self._interrupts)
            raise
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if self._hooks is None:
            return
        hooks, self._hooks = self._hooks, None
        try:
            hooks.close()
            if not self._recorder.process.is_another:  # in a fork, the profiles are the parent process's
                self._close(was_fine=error is None)
        finally:
            release_interrupts(self._interrupts)

    def _close(self, *, was_fine: bool) -> None:
        with self._recorder.lock:  # wait for what is being done after a run
            try:
                self._end()
            except Exception as own:
                self._recorder.stop_after_error(own)
            self._recorder.is_open = False
        if was_fine:
            for sentence in self._held_back:
                warnings.warn(sentence, ProfileWarning, stacklevel=3)

    def _end(self) -> None:
        """Write what was traced and is in no file yet, and warn of what is missing."""
        dumps: list[str] = []
        if self._schedule.dumps_rest or self._schedule.missed(self._schedule.dump_steps):
            with self._warning_that("what was traced last is in no file"):
                dumps = self._written(self._profiles.dump_rest())
        if self._recorder.is_open:
            shown = [step for _, _, steps in self._asked for step in steps]
            for sentence in shortcomings(self._schedule, self._recorder.untraceable, shown, dumps):
                self._warn(sentence)

    def _ended(self, run: StepRun, metadata: bytes | None) -> None:
        """Do what is due at the end of a step."""
        step = run.due.step
        self._profiles.ran(run.graph)
        if metadata is not None:
            with self._warning_that(f"step {step} is missing"):
                self._add(run.graph, step, metadata)
            if self._debugs:
                with self._warning_that(f"run_meta_{step} is missing"):
                    self._write_text(step, metadata)
        if run.due.dumped:
            with self._warning_that(f"profile_{step} is missing"):
                self._written(self._profiles.dump(step))
        for view, options, steps in list(self._asked):
            if step in steps:
                with self._warning_that(f"the {view} view of step {step} is missing"):
                    self._views.setdefault(view, {})[step] = self._show(view, options)

    def _written(self, paths: Iterator[str]) -> list[str]:
        written = []
        for path in paths:
            self._debug(f"wrote {path}")
            written.append(path)
        return written

    def _add(self, graph: Any, step: int, metadata: bytes) -> None:
        self._profiles.add(graph, step, metadata)
        if self._schedule.is_automatic:
            self._schedule.coverage = self._profiles.coverage
        self._debug(f"traced step {step}")

    def _write_text(self, step: int, metadata: bytes) -> None:
        text = str(as_message(metadata, "RunMetadata", "run_meta"))
        write_whole(self._profiles.path(f"run_meta_{step}"), text.encode())

    def _show(self, view: str, options: Mapping[str, Any]) -> GraphNodeProto | MultiGraphNodeProto:
        profiler = self._profiles.current
        shows = {
            "scope": profiler.profile_name_scope,
            "graph": profiler.profile_graph,
            "op": profiler.profile_operations,
            "code": profiler.profile_python,
        }
        return cast("GraphNodeProto | MultiGraphNodeProto", shows[view](options))

    @contextmanager
    def _warning_that(self, consequence: str) -> Iterator[None]:
        try:
            yield
        except WARNED_OF as error:
            self._warn(f"{consequence}: {error}")

    def _warn(self, sentence: str) -> None:
        """Warn the user; if warnings raise, which must not break the loop, then only at the end of the loop."""
        try:
            warnings.warn(sentence, ProfileWarning, stacklevel=2)
        except ProfileWarning:
            self._held_back.append(sentence)

    def _debug(self, sentence: str) -> None:
        if self._debugs:
            sys.stderr.write(f"debug: {sentence}\n")
