"""Adds up the time in which no run is under way, and samples what Python does in that time, by line."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Event, Thread, get_ident
from time import perf_counter
from types import FrameType
from typing import Protocol

from tfprof_widget.analysis.own_lines import NEARLY_ALL, is_repeated, loop_heads, repeated_place
from tfprof_widget.capturing.sampling import Sampler
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.profiles.data import CellTimes, Doing, PythonTime

Label = Callable[[str], tuple[str, str] | None]
"""IPython's function that gives the kind and name of a file that is a cell."""

INTERVAL = 0.01
"""The seconds between two looks at the thread. A look takes some 50 µs, so that all take half a percent."""

FEWEST_SAMPLES = 10
"""Of a time in which the thread was seen less often it is not told what it did."""

MOST_SAMPLES = 10_000
"""After each so many looks the interval doubles: long cells are seen often enough, and use no more memory."""

MOST_STACKS = 2_000
DEEPEST = 500

Place = tuple[str, int, str]
"""A line: file, number, function."""

_ITERATORS = "/tensorflow/python/data/"
_NEXT = frozenset({"__next__", "next", "get_next", "get_next_as_optional"})
_ADAPTERS = re.compile(r"/data_adapters?(/|\.py$)|/epoch_iterator\.py$")
_CALLBACK = re.compile(r"/(tf_)?keras/(src/)?callbacks(/|\.py$)")
_CALLS = re.compile(
    r"/tensorflow/python/(client|eager/polymorphic_function)/|/tensorflow/python/training/\w*(session|hook)\w*\.py "
    r"|/keras/src/.*trainer\.py |/engine/training\w*\.py (?!__call__$)"
)
"""Files and functions that make runs. A model of Keras 2 that is called by itself runs its ops one by one."""
_NO_OPS = re.compile(
    r"/tensorflow/python/(checkpoint|saved_model|summary)/|/(func_graph|op_def_library|saver)\.py$"
    r"|/keras/src/saving/"
)
"""Files of TensorFlow and Keras that read and write files or build graphs."""

_BUILDING = frozenset({"build", "add_weight", "compute_output_spec", "symbolic_call"})
"""Functions of Keras in which a model is built, which makes its weights op by op, once."""

_LEAVING = "/traceback_utils.py"
"""The outermost file of a call of Keras or TensorFlow: alone it frees what the call leaves behind."""

_OWN_WORK = "/tfprof_widget/capturing/"
_FRAMEWORK = re.compile(r"/(tensorflow|keras|tf_keras)/")


class Runs(Protocol):
    """Runs of a source: those under way, and the sampler that adds up the seconds that watching runs took so far."""

    sampler: Sampler

    @property
    def under_way(self) -> Collection[object]:
        """The runs that have begun and not ended."""


MOST_CALLED = 8
"""So far below the user's line a library has the loop that runs ops, if it has one."""

_WHILE_LOOP = re.compile(r"/tensorflow/python/ops/(while_loop|control_flow_ops)\.py$")


@dataclass(frozen=True)
class Sample:
    """What a thread was seen to do, and the user's lines in its stack, the outermost first.

    If it ran ops, `called` are the lines of libraries that the innermost of the user's lines called.
    """

    doing: Doing
    lines: tuple[Place, ...]
    called: tuple[Place, ...] = ()


class Gaps:
    """The time of a cell in which no run is under way, and what Python was seen to do in it.

    The open gap began at `since`, which is moved by what recording takes. The thread to look at is that of the last
    run, before the first run that which opened the capture.

    >>> clock = iter([0.0, 5.0]).__next__
    >>> gaps = Gaps(clock)
    >>> for started, ended in ((1.0, 2.0), (3.0, 4.0)):
    ...     gaps.begins(started, is_first=started == 1.0)
    ...     gaps.ends(ended)
    >>> gaps.close()
    >>> gaps.outside, gaps.between
    (3.0, 1.0)
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.sources: list[Runs] = []
        self.between = self._beside = 0.0
        self._clock = clock
        self._opened = self.since = clock()
        self._closed: float | None = None
        self.thread = get_ident()
        self._begun_at = _users_line(sys._getframe())
        self._own = 0.0
        self._known: dict[Sample, Sample] = {}
        self._is_library: dict[str, bool] = {}
        self._pending: list[Sample] = []  # a list, to which one thread may append while another takes it away
        self._outside: Counter[Sample] = Counter()
        self._between: Counter[Sample] = Counter()
        self._gaps_with_calls = 0

    @property
    def outside(self) -> float:
        """The time in which no run was under way: between runs, before the first of a kind and after the last."""
        return self.between + self._beside

    @property
    def is_open(self) -> bool:
        """Whether no run is under way, and the cell is not over."""
        if self._closed is not None:
            return False
        for source in self.sources:  # noqa: SIM110
            if source.under_way:
                return False
        return True  # `all` takes three times as long

    def begins(self, at: float, *, is_first: bool) -> None:
        """Take note that a run begins; what comes before the first run of a kind is not between runs."""
        for source in self.sources:
            if source.under_way:
                return
        if self._pending or is_first or self._closed is not None:
            self._end_gap(at, is_between=not is_first)
        elif at > self.since:  # as most gaps end
            self.between += at - self.since

    def ends(self, at: float) -> None:
        """Take note that the last run under way of a source has ended; if no other's is, a gap begins now.

        The thread that made it is the one to look at.
        """
        self.thread = get_ident()
        self.since = at

    def close(self) -> None:
        """Take note that the cell is over."""
        at = self._clock()
        if self.is_open:
            self._end_gap(at, is_between=False)
        self._closed = at
        self._own = sum(source.sampler.overhead_seconds for source in self.sources)

    def see(self, frame: FrameType | None) -> None:
        """Keep what a thread does whose innermost frame this is."""
        sample = sampled(frame, self._is_library)
        if sample is None:
            return
        if sample not in self._known and len(self._known) >= MOST_STACKS:
            sample = Sample(sample.doing, ())
        self._pending.append(self._known.setdefault(sample, sample))

    def times(self) -> CellTimes:
        """How the time of the cell was spent.

        What recording took beside a run, in another thread, took none of the cell's time; so the cell is at least as
        long as the time outside of the runs.
        """
        closed = self._clock() if self._closed is None else self._closed
        between = _by_doing(self._between, self.between, self._begun_at)
        if self._gaps_with_calls < FEWEST_SAMPLES:  # such as one long end of an epoch, which frees its input
            between = (each for each in between if each.doing != "calls")
        return CellTimes(
            seconds=max(closed - self._opened - self._own, self.outside),
            outside=tuple(_by_doing(self._outside, self.outside, self._begun_at)),
            between=tuple(between),
        )

    def _end_gap(self, at: float, *, is_between: bool) -> None:
        if self._closed is not None:
            return
        seconds = max(at - self.since, 0.0)
        if is_between:
            self.between += seconds
        else:
            self._beside += seconds
        if not self._pending:
            return
        seen, self._pending = self._pending, []
        self._outside.update(seen)
        if is_between:
            self._between.update(seen)
            self._gaps_with_calls += any(sample.doing == "calls" for sample in seen)


@contextmanager
def sampled_gaps(gaps: Gaps, interval: float = INTERVAL) -> Iterator[None]:
    """Look every so many seconds at what the thread that makes the runs does while none is under way."""
    over = Event()
    thread = Thread(target=_look, args=(gaps, over, interval), name="tfprof_widget lines", daemon=True)
    with suppress(RuntimeError):  # there may be no room for another thread: then no lines are known
        thread.start()
    try:
        yield
    finally:
        gaps.close()
        over.set()
        if thread.ident is not None:
            thread.join()


def _look(gaps: Gaps, over: Event, interval: float) -> None:
    seen = 0
    while not over.wait(interval):
        if gaps.is_open:
            with suppress(Exception):  # the other thread runs on: once a frame of its stack was none any more
                gaps.see(sys._current_frames().get(gaps.thread))
            seen += 1
            interval *= 1 if seen % MOST_SAMPLES else 2


def sampled(frame: FrameType | None, known: dict[str, bool]) -> Sample | None:
    """What a thread does, given its innermost frame; None if it is in a hook.

    `known` is filled with what was found out: which files are of libraries.

    >>> sampled(sys._getframe(), {}).doing
    'python'
    """
    stack: list[Place] = []
    while frame is not None and len(stack) < DEEPEST:
        stack.append((frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name))
        frame = frame.f_back
    own = [place for place, each in enumerate(stack) if not _of_library(each[0], known)]
    below = stack[: own[0]] if own else stack
    if any(_OWN_WORK in file.replace("\\", "/") for file, _, _ in below):
        return None
    lines = tuple(stack[place] for place in reversed(own))
    doing = _doing(stack, below)
    return Sample(doing, lines, tuple(below[: -MOST_CALLED - 1 : -1]) if doing == "ops" else ())


def _of_library(file: str, known: dict[str, bool]) -> bool:
    if file not in known:
        known[file] = is_of_library(file)
    return known[file]


def _doing(stack: Sequence[Place], below: Sequence[Place]) -> Doing:
    """What is done in a stack, innermost frame first; `below` are the frames that the user's innermost frame calls."""
    files = [file.replace("\\", "/") for file, _, _ in stack]
    inner, outer = files[: len(below)], files[len(below) :]
    waits = any(_ITERATORS in file and place[2] in _NEXT for file, place in zip(inner, below, strict=True))
    if waits or any(_ITERATORS in file or _ADAPTERS.search(file) for file in outer):
        return "input"
    if any(map(_CALLBACK.search, files)):
        return "callback"
    makes_runs = any(_CALLS.search(f"{file} {place[2]}") for file, place in zip(inner, below, strict=True))
    if makes_runs or any(map(_ADAPTERS.search, inner)) or (inner and inner[0].endswith(_LEAVING)):
        return "calls"
    if any(_ITERATORS in file for file in inner):
        return "input"
    is_other = any(map(_NO_OPS.search, inner)) or any(function in _BUILDING for _, _, function in below)
    return "ops" if any(map(_FRAMEWORK.search, inner)) and not is_other else "python"


def _users_line(frame: FrameType | None) -> Place | None:
    """The user's line that a frame was called from, if there is one."""
    while frame is not None and is_of_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame and (frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name)


def _by_doing(seen: Counter[Sample], seconds: float, begun_at: Place | None) -> Iterator[PythonTime]:
    """The time by what Python did, what took most first; nothing if the thread was seen too seldom.

    The capture was begun at the user's line `begun_at`.
    """
    samples = seen.total()
    if samples < FEWEST_SAMPLES:
        return
    files = {file for sample in seen if sample.doing == "python" for file, _, _ in sample.lines}
    heads = {file: loop_heads(file) for file in files}
    over_datasets = {sample.lines[-1:] for sample in seen if sample.doing == "input"}
    done: dict[Doing, Counter[tuple[Place, ...]]] = {}
    for sample, count in seen.items():
        at_heads = [sample.doing == "python" and line in heads[file] for file, line, _ in sample.lines]
        if any(at_heads[:-1]):
            doing: Doing = "input"
        else:
            # No Python runs while an iterator is freed, which takes long if it holds many items.
            doing = "freed" if at_heads[-1:] == [True] and sample.lines[-1:] in over_datasets else sample.doing
        done.setdefault(doing, Counter())[sample.lines] += count
    for doing, of_it in sorted(done.items(), key=lambda each: -each[1].total()):
        place = repeated_place(of_it, begun_at) if doing == "ops" else _innermost(of_it)
        calling = _calling_line(seen) if doing == "ops" and place is None else None
        file, line, function = place or calling or ("", 0, "")
        took = seconds * of_it.total() / samples
        yield PythonTime(doing, took, file, line, function, by_library=calling is not None)


def _calling_line(seen: Counter[Sample]) -> Place | None:
    """The user's line below which nearly all ops were run by a loop of a library; None if there is no such line."""
    of_line: dict[Place, Counter[tuple[Place, ...]]] = {}
    for sample, count in seen.items():
        if sample.doing == "ops" and sample.lines:
            of_line.setdefault(sample.lines[-1], Counter())[sample.called] += count
    ops = sum(count for sample, count in seen.items() if sample.doing == "ops")
    line = max(of_line, key=lambda line: of_line[line].total(), default=None)
    if line is None or ops < FEWEST_SAMPLES or of_line[line].total() < NEARLY_ALL * ops:
        return None
    # TensorFlow and Keras go through layers, structures and callbacks in loops of their own, which repeat nothing.
    places = {place for called in of_line[line] for place in called if _may_repeat(place[0])}
    loops = {place for place in places if is_repeated(*place[:2])}
    in_loop = sum(count for called, count in of_line[line].items() if loops.intersection(called))
    return line if in_loop >= NEARLY_ALL * of_line[line].total() else None


def _may_repeat(file: str) -> bool:
    file = file.replace("\\", "/")
    return not _FRAMEWORK.search(file) or _WHILE_LOOP.search(file) is not None


def _innermost(seen: Counter[tuple[Place, ...]]) -> Place | None:
    """The innermost line of the user's that was seen most often."""
    found: Counter[Place] = Counter()
    for lines, count in seen.items():
        if lines:
            found[lines[-1]] += count
    return found.most_common(1)[0][0] if found else None


def times_of_cell(times: CellTimes | None, step_seconds: float, label: Label | None) -> CellTimes | None:
    """How the cell's time was spent, with that of a step; `label` names the files that are cells.

    >>> times_of_cell(CellTimes(1.0), 0.1, None).step_seconds
    0.1
    """
    if times is None:
        return None

    def named(time: PythonTime) -> PythonTime:
        cell = label(time.file) if label is not None and time.file else None
        return replace(time, file=cell[1]) if cell else time

    outside, between = (tuple(map(named, each)) for each in (times.outside, times.between))
    return replace(times, outside=outside, between=between, step_seconds=step_seconds)
