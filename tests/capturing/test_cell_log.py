"""A cell's time is divided into parts that add up, by what runs, hooks and looks noted, on a clock that tests set."""

from __future__ import annotations

import sys
from array import array
from contextlib import nullcontext
from threading import Event, Thread, get_ident
from types import CodeType, FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widget.analysis.account.cell import BY_RANK, CellSpans, divide
from tfprof_widget.capturing import cell_log, python_sampler
from tfprof_widget.capturing.cell_log import CellLog, RunLog
from tfprof_widget.capturing.python_sampler import MOST_STACKS, REVIEWED, PythonSampler, looking
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.cell import (
    CELL_PARTS,
    FIRST_RUN,
    RAISED,
    TRACED,
    CellRuns,
    CellTimes,
)

SECOND = 10**9


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def seconds(times: CellTimes) -> dict[str, float]:
    """The parts that are not empty, in seconds."""
    return {part: times.part(part) / SECOND for part in CELL_PARTS if times.part(part)}


def runs_of(*runs: tuple[float, float, int], built: dict[int, float] | None = None) -> CellRuns:
    """Runs of one kind, each with its start, its length and its mark."""
    log = RunLog()
    for place, (started, length, mark) in enumerate(runs):
        log.add(started, length)
        if mark:
            log.mark(mark, step=None, built=(built or {}).get(place))
    return log.runs("train", 0.0)


def logged(clock: Clock, opened: float = 1.0, closing: float = 20.0, left: float = 22.0) -> CellLog:
    log = CellLog(clock)
    log.opened, log.closing, clock.now = opened, closing, left
    return log


def test_a_cell_is_its_runs_and_what_is_around_them() -> None:
    """Entered in 1 s; a first run of 3 s, of which 2 s build its function; two others; 0.5 s waited; left in 2 s."""
    log = logged(Clock())
    log.waiting.add(9.0, 9.5)
    log.watching = 0.25
    times = log.times([runs_of((5.0, 3.0, FIRST_RUN), (10.0, 1.0, 0), (12.0, 2.0, TRACED), built={0: 7.0})])
    assert seconds(times) == {
        "tracing": 2.0,
        "first": 1.0,
        "steps": 3.0,
        "input": 0.5,
        "tfprof": 1.0 + 2.0 + 0.25,
        "python": 22.0 - 9.75,
    }
    assert times.nanos == 22 * SECOND == sum(times.parts)
    assert times.kinds == {"train": 6 * SECOND}


def test_what_is_built_outside_of_runs_and_again_in_them_counts_once() -> None:
    log = logged(Clock())
    for start, end in ((2.0, 4.0), (2.5, 3.0), (5.0, 6.0)):
        log.tracing.add(start, end)
    times = log.times([runs_of((5.0, 3.0, FIRST_RUN), built={0: 6.5})])
    assert seconds(times) == {"tracing": 3.5, "first": 1.5, "tfprof": 3.0, "python": 14.0}


def test_a_run_that_raised_takes_time_too() -> None:
    times = logged(Clock()).times([runs_of((5.0, 3.0, RAISED), (10.0, 1.0, 0))])
    assert seconds(times)["steps"] == 4.0


def test_runs_of_several_threads_count_once_and_steps_count_before_what_goes_on_beside_them() -> None:
    """Two threads with runs from 5 to 8 and from 6 to 9; a first run, a wait and own work from 7 to 11."""
    log = logged(Clock())
    log.waiting.add(7.0, 11.5)
    log.own.add(7.0, 11.0)
    kinds = [runs_of((5.0, 3.0, 0)), runs_of((6.0, 3.0, 0)), runs_of((7.0, 3.0, FIRST_RUN))]
    times = log.times(kinds)
    assert seconds(times) == {"steps": 4.0, "first": 1.0, "tfprof": 1.0 + 3.0, "input": 0.5, "python": 12.5}


def test_what_ran_after_an_error_of_tfprof_itself_is_not_known() -> None:
    log = logged(Clock())
    log.lost = 15.0
    assert seconds(log.times([])) == {"other": 5.0, "tfprof": 3.0, "python": 14.0}


def test_of_very_many_runs_and_waits_the_last_are_known_by_their_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_log, "MOST_RUNS", 2)
    monkeypatch.setattr(cell_log, "MOST_SPANS", 1)
    log = logged(Clock())
    for start in (2.0, 4.0, 6.0):
        log.waiting.add(start, start + 0.5)
    runs = runs_of(*((start, 1.0, 0) for start in (3.0, 5.0, 7.0, 9.0)))
    assert len(runs) == 2
    assert seconds(log.times([runs])) == {"steps": 4.0, "input": 1.5, "tfprof": 3.0, "python": 13.5}


@given(
    st.lists(
        st.tuples(st.sampled_from(BY_RANK), st.integers(0, 60), st.integers(0, 30)),
        max_size=12,
    ),
    st.dictionaries(st.sampled_from(("tfprof", "input", "steps")), st.integers(0, 80), max_size=3),
    st.one_of(st.none(), st.integers(0, 60)),
)
def test_whatever_goes_on_the_parts_add_up(
    spans: list[tuple[str, int, int]], sums: dict[str, int], lost: int | None
) -> None:
    """And each nanosecond of the block is in the part that ranks first of what goes on then."""
    by_part = {
        part: Intervals.of(
            np.array([start for each, start, _ in spans if each == part], np.int64),
            np.array([start + length for each, start, length in spans if each == part], np.int64),
        )
        for part in BY_RANK
    }
    divided = divide(CellSpans(5, 55, 70, by_part, sums, lost))
    assert sum(divided.parts.values()) == 70
    assert min(divided.parts.values()) >= 0
    for moment in range(5, 55):
        going_on = [part for part in BY_RANK if by_part[part].covers(np.array([moment]))[0]]
        usual = "other" if lost is not None and moment >= lost else "python"
        expected = going_on[0] if going_on else usual
        assert CELL_PARTS[divided.part_at(np.array([moment]))[0]] == expected


def code_of(file: str, line: int, function: str) -> Any:
    """Code that has one line."""
    lines = [(0, 100, line)]
    return SimpleNamespace(co_filename=file, co_name=function, co_firstlineno=line, co_lines=lambda: lines)


def frame(*stack: str) -> Any:
    """The innermost frame of a stack of frames, outermost first, each as `file:line function`."""
    found: Any = None
    for each in stack:
        place, _, function = each.partition(" ")
        file, _, line = place.partition(":")
        code, number = code_of(file, int(line or 1), function or "<module>"), int(line or 1)
        found = SimpleNamespace(f_code=code, f_lasti=0, f_lineno=number, f_back=found)
    return found


MINE = "/home/me/train.py"
OURS = sys.modules[CellLog.__module__].__file__


def test_a_look_stands_for_the_time_of_its_part_since_the_look_before() -> None:
    """Python works from 1 to 5 and from 8 to 20, while looks are at 2, 4, 6 (in a run, and so in vain), 9 and 19."""
    clock = Clock()
    log = CellLog(clock)
    for at, line in ((2.0, 1), (4.0, 2), (6.0, 3), (9.0, 4), (19.0, 4)):
        clock.now = at
        log.sampler.see(frame(f"{MINE}:{line}"))
    log.opened, log.closing, clock.now = 1.0, 20.0, 20.0
    looks = log.times([runs_of((5.0, 3.0, FIRST_RUN), (25.0, 1.0, 0))]).looks
    parts = [CELL_PARTS[part] for part in looks.part.tolist()]
    assert parts == ["python", "python", "first", "python", "python"]
    assert (looks.nanos / SECOND).tolist() == [1.0, 2.0, 0.0, 2.0, 11.0]
    assert looks.gap.tolist() == [-1, -1, 1, 1, 1]  # the second run follows, which is no first one
    assert [line.line for line in looks.stack_lines(int(looks.stack[3]))] == [4]


def test_hooks_are_neither_seen_nor_in_stacks() -> None:
    """What a hook calls for the user, such as a callback or TensorFlow, is the user's."""
    clock = Clock()
    log = CellLog(clock)
    keras = "/venv/lib/python3.11/site-packages/keras/src/trainer.py"
    for stack in ((MINE, f"{OURS}:1 hook"), (MINE, f"{OURS}:1 hook", "/lib/python3.11/threading.py:1 acquire")):
        log.sampler.see(frame(*stack))
    log.sampler.see(frame(f"{MINE}:3", f"{keras}:9 fit", f"{OURS}:1 hook", f"{MINE}:7 on_batch_end"))
    log.sampler.see(frame(f"{MINE}:3", f"{OURS}:1 hook", f"{keras}:9 fit"))
    log.closing = clock.now = 1.0
    looks = log.times([]).looks
    assert [[line.line for line in looks.stack_lines(stack)] for stack in looks.stack.tolist()] == [[3, 9, 7], [3, 9]]


def test_of_many_looks_every_other_one_is_kept() -> None:
    sampler = PythonSampler(Clock())
    for line in range(5):
        sampler.see(frame(f"{MINE}:{line}"))
    sampler.halve()
    assert list(sampler.stack) == [1, 3]


def test_many_different_stacks_lose_their_lines_and_not_their_time() -> None:
    clock = Clock()
    log = CellLog(clock)
    for line in range(MOST_STACKS + 500):
        clock.now = 1.0 + line
        log.sampler.see(frame(f"{MINE}:{line}"))
    log.closing = clock.now
    looks = log.times([]).looks
    assert len(looks.stacks) == MOST_STACKS + 1
    assert looks.nanos.sum() == log.nanos()


class Runs:
    """A source of runs that have begun and not ended."""

    def __init__(self, *kinds: Any) -> None:
        self.under_way = [SimpleNamespace(kind=kind) for kind in kinds]


OWN, BESIDE = SimpleNamespace(is_beside=False), SimpleNamespace(is_beside=True)


def test_the_thread_is_looked_at_while_it_has_no_run_or_builds_a_function() -> None:
    log = CellLog()
    idle, busy = Runs(), Runs(OWN)
    log.sources.append(idle)
    assert log.thread_to_see() == get_ident()
    log.sources.append(busy)
    assert log.thread_to_see() is None
    log.building = 1
    assert log.thread_to_see() == get_ident()


def test_runs_beside_the_cells_own_thread_do_not_hide_what_it_does() -> None:
    """As that of a queue runner, which waits as long as the cell trains."""
    log = CellLog()
    log.sources.append(Runs(BESIDE))
    log.take_thread(7, is_beside=True)
    assert log.thread_to_see() is None  # all runs so far were made by that thread
    log.sources[0] = Runs()
    assert log.thread_to_see() == 7
    log.take_thread(get_ident(), is_beside=False)
    log.take_thread(7, is_beside=True)
    log.sources[0] = Runs(BESIDE)
    assert log.thread_to_see() == get_ident()


def test_the_thread_of_the_cell_is_looked_at_until_the_block_is_over() -> None:
    looked, may_end = Event(), Event()

    class Seen(PythonSampler):
        def see(self, frame: FrameType | None) -> None:
            while frame is not None:
                if isinstance(frame.f_code, CodeType) and frame.f_code.co_name == "work_of_the_cell":
                    looked.set()
                frame = frame.f_back

    def work_of_the_cell() -> None:
        with looking(Seen(), CellLog().thread_to_see, interval=0.001):
            assert looked.wait(60)
            may_end.set()

    thread = Thread(target=work_of_the_cell)
    thread.start()
    thread.join()
    assert may_end.is_set()


def test_a_stack_that_cannot_be_read_is_passed_over() -> None:
    """The other thread runs on while it is looked at: once CPython gave a function for a frame."""
    looks, again = [], Event()

    class Unreadable(PythonSampler):
        def see(self, frame: FrameType | None) -> None:
            looks.append(frame)
            if len(looks) == 1:
                raise AttributeError("'function' object has no attribute 'f_code'")
            again.set()

    with looking(Unreadable(), CellLog().thread_to_see, interval=0.001):
        assert again.wait(60)


def test_looks_that_take_long_become_fewer_until_they_take_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """After looks of 100 µs, 0.8 % of a core is one each 12.5 ms; looks of 10 µs may be each 5 ms."""
    clock, timeouts = Clock(), list[float]()

    class Lock:
        def acquire(self, timeout: float) -> bool:
            timeouts.append(timeout)
            clock.now += timeout
            return len(timeouts) > 3 * REVIEWED

    def worked() -> float:
        looks = len(timeouts)
        return 100e-6 * min(looks, REVIEWED) + 10e-6 * max(looks - REVIEWED, 0)

    monkeypatch.setattr(python_sampler, "perf_counter", clock)
    monkeypatch.setattr(python_sampler, "thread_time", worked)
    python_sampler._look(PythonSampler(clock), CellLog(clock).thread_to_see, Lock(), 0.005)  # type: ignore[arg-type]
    assert timeouts[:REVIEWED] == [0.005] * REVIEWED
    assert timeouts[REVIEWED : 2 * REVIEWED] == pytest.approx([0.0125] * REVIEWED)
    assert timeouts[2 * REVIEWED : 3 * REVIEWED] == [0.005] * REVIEWED


def test_places_in_code_on_one_line_are_one_stack() -> None:
    sampler, code = PythonSampler(Clock()), code_of(MINE, 7, "main")
    for place in (2, 4, 2):
        sampler.see(SimpleNamespace(f_code=code, f_lasti=place, f_lineno=7, f_back=None))  # type: ignore[arg-type]
    assert list(sampler.stack) == [0, 0, 0]


def test_a_stack_that_went_on_while_its_lines_were_read_is_not_kept() -> None:
    sampler, code, places = PythonSampler(Clock()), code_of(MINE, 7, "main"), iter([2, 4])

    class Running:
        f_code, f_lineno, f_back = code, 7, None

        @property
        def f_lasti(self) -> int:
            return next(places)

    sampler.see(Running())  # type: ignore[arg-type]
    assert not sampler.at


def test_runs_go_on_while_numpy_reads_their_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be appended to an array while numpy reads it."""
    log = RunLog()
    log.add(1.0, 0.5)

    def read_meanwhile(values: Any, *others: Any) -> Any:
        with memoryview(values) if isinstance(values, array) else nullcontext():
            log.add(2.0, 0.5)
        return np.array(values, *others)

    monkeypatch.setattr(cell_log, "np", SimpleNamespace(**{**vars(np), "array": read_meanwhile}))
    assert log.runs("train", 1.0).start.tolist() == [0]
