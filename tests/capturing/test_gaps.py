"""The time in which no run is under way is added up, and what Python was seen to do in it is told by line."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread, get_ident
from types import CodeType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from tfprof_widget.capturing.gaps import FEWEST_SAMPLES, MOST_STACKS, Gaps, sampled, sampled_gaps
from tfprof_widget.capturing.sampling import EVERYTHING, Sampler

TENSORFLOW = "/venv/lib/python3.11/site-packages/tensorflow/python/"
KERAS = "/venv/lib/python3.11/site-packages/keras/src/"
FIT = f"{KERAS}backend/tensorflow/trainer.py fit"
OP = f"{TENSORFLOW}ops/gen_math_ops.py mat_mul"
MINE = "/home/me/train.py"


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Source:
    """Runs that a test lets begin and end."""

    under_way: list[str] = field(default_factory=list)
    sampler: Sampler = field(default_factory=lambda: Sampler(EVERYTHING))


def frame(*stack: str) -> Any:
    """The innermost frame of a stack of frames, outermost first, each as `file function` or `file:line function`."""
    found: Any = None
    for each in stack:
        place, _, function = each.partition(" ")
        file, _, line = place.partition(":")
        code = SimpleNamespace(co_filename=file, co_name=function or "<module>")
        found = SimpleNamespace(f_code=code, f_lineno=int(line or 1), f_back=found)
    return found


@pytest.mark.parametrize(
    ("stack", "doing"),
    [
        ([MINE], "python"),
        ([MINE, "/venv/lib/python3.11/site-packages/numpy/core.py dot"], "python"),
        ([MINE, OP], "ops"),
        ([MINE, "/venv/lib/python3.11/site-packages/tfp/mcmc.py one_step", OP], "ops"),
        ([MINE, f"{KERAS}layers/layer.py __call__", OP], "ops"),
        ([OP, MINE], "python"),  # what TensorFlow calls is the user's
        ([MINE, FIT], "calls"),
        ([MINE, f"{TENSORFLOW}client/session.py run"], "calls"),
        ([MINE, "/venv/lib/python3.11/site-packages/tf_keras/src/engine/training.py __call__", OP], "ops"),
        ([MINE, "/venv/lib/python3.11/site-packages/tf_keras/src/engine/training.py train_on_batch", OP], "calls"),
        ([MINE, f"{KERAS}utils/traceback_utils.py error_handler"], "calls"),
        ([MINE, FIT, f"{KERAS}callbacks/callback_list.py on_batch_end", f"{MINE} on_batch_end"], "callback"),
        ([MINE, FIT, f"{KERAS}callbacks/model_checkpoint.py on_batch_end"], "callback"),
        ([MINE, "/venv/lib/python3.11/site-packages/tf_keras/src/callbacks.py on_batch_end"], "callback"),
        ([MINE, f"{TENSORFLOW}training/basic_session_run_hooks.py after_run", OP], "calls"),
        ([MINE, FIT, f"{KERAS}trainers/epoch_iterator.py enumerate", f"{TENSORFLOW}data/ops.py __iter__", OP], "calls"),
        ([MINE, FIT, f"{TENSORFLOW}data/ops/iterator_ops.py __next__"], "input"),
        ([MINE, f"{TENSORFLOW}data/ops/iterator_ops.py __next__"], "input"),
        ([MINE, f"{TENSORFLOW}data/ops/dataset_ops.py __iter__", OP], "input"),
        ([MINE, FIT, f"{KERAS}trainers/data_adapters/py_dataset_adapter.py get", f"{MINE} __getitem__"], "input"),
        ([MINE, f"{KERAS}layers/layer.py __call__", f"{KERAS}layers/core/dense.py build", OP], "python"),
        ([MINE, f"{TENSORFLOW}framework/func_graph.py capture"], "python"),
        ([MINE, f"{TENSORFLOW}checkpoint/checkpoint.py save", OP], "python"),
    ],
)
def test_what_a_stack_does(stack: Sequence[str], doing: str) -> None:
    found = sampled(frame(*stack), {})
    assert found is not None
    assert found.doing == doing


def test_hooks_of_the_capture_are_not_the_users_time() -> None:
    assert sampled(frame(MINE, "/src/tfprof_widget/capturing/function_hooks.py step"), {}) is None
    assert sampled(frame("/src/tfprof_widget/api/capture.py inner", MINE), {}) is not None


def test_lines_are_the_users_own_and_the_outermost_comes_first() -> None:
    found = sampled(frame(f"{MINE}:3", f"{MINE}:7 main", FIT, f"{MINE}:9 on_batch_end"), {})
    assert found is not None
    assert found.lines == ((MINE, 3, "<module>"), (MINE, 7, "main"), (MINE, 9, "on_batch_end"))


def test_time_between_runs_is_without_what_came_before_the_first_and_after_the_last() -> None:
    """A cell of 20 s: runs of 1 s begin at 5 (the first), 8 and 12; tfprof itself takes 1.5 s before the last."""
    clock, source = Clock(), Source()
    gaps = Gaps(clock)
    gaps.sources.append(source)
    for started in (5.0, 8.0, 12.0):
        if started == 12.0:
            source.sampler.add_overhead(1.5)
            gaps.since += 1.5
        gaps.begins(started, is_first=started == 5.0)
        source.under_way = ["run"]
        assert not gaps.is_open
        source.under_way = []
        gaps.ends(started + 1)
    clock.now = 20.0
    gaps.close()
    assert gaps.between == 2.0 + 3.0 - 1.5
    assert gaps.outside == 5.0 + gaps.between + 7.0
    assert gaps.times().seconds == 20.0 - 1.5


def test_while_another_source_runs_there_is_no_gap() -> None:
    clock, one, other = Clock(), Source(), Source()
    gaps = Gaps(clock)
    gaps.sources += [one, other]
    other.under_way = ["run"]
    gaps.ends(3.0)
    gaps.begins(4.0, is_first=False)
    assert (gaps.between, gaps.outside) == (0.0, 0.0)


def test_recording_beside_a_run_leaves_the_cell_its_time_outside_of_runs() -> None:
    clock, source = Clock(), Source()
    gaps = Gaps(clock)
    gaps.sources.append(source)
    clock.now = 8.0
    gaps.begins(8.0, is_first=True)
    source.under_way.append("run")
    source.sampler.add_overhead(3.0)
    source.under_way.clear()
    clock.now = 10.0
    gaps.ends(10.0)
    gaps.close()
    times = gaps.times()
    assert (times.seconds, gaps.outside) == (8.0, 8.0)


def seen(gaps: Gaps, *stacks: tuple[int, Sequence[str]]) -> None:
    """Let a gap of 10 s hold so many looks at each stack, and a run follow."""
    gaps.ends(0.0)
    for count, stack in stacks:
        for _ in range(count):
            gaps.see(frame(*stack))
    gaps.begins(10.0, is_first=False)


def test_time_is_told_by_what_python_did_and_its_line() -> None:
    gaps = Gaps(Clock())
    callback = [MINE, FIT, f"{KERAS}callbacks/callback_list.py on_batch_end", f"{MINE}:7 on_batch_end"]
    seen(gaps, (16, callback), (3, [f"{MINE}:20"]), (1, [f"{MINE}:21"]))
    told = [(each.doing, each.seconds, each.place) for each in gaps.times().between]
    assert told == [("callback", 8.0, "train.py:7"), ("python", 2.0, "train.py:20")]


def test_calls_are_told_of_if_many_gaps_have_them() -> None:
    """At the end of an epoch Keras frees its input, which may take long and is no cost of a call."""
    once, often = Gaps(Clock()), Gaps(Clock())
    seen(once, (100, [f"{MINE}:20", FIT]))
    assert once.times().between == ()
    for _ in range(10):
        seen(often, (1, [f"{MINE}:20", FIT]))
    assert [(each.doing, each.seconds) for each in often.times().between] == [("calls", 100.0)]


def test_of_what_was_seen_too_seldom_nothing_is_told() -> None:
    gaps = Gaps(Clock())
    seen(gaps, (FEWEST_SAMPLES - 1, [MINE]))
    assert gaps.times().between == ()
    gaps = Gaps(Clock())
    seen(gaps, (FEWEST_SAMPLES, [MINE]))
    assert [each.doing for each in gaps.times().between] == ["python"]


def test_python_in_the_head_of_a_loop_makes_its_items(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("for batch in batches():\n    train(batch)\n")
    gaps = Gaps(Clock())
    seen(gaps, (15, [f"{file}:1", f"{file}:9 batches"]), (5, [f"{file}:2", f"{file}:19 train"]))
    assert [(each.doing, each.seconds) for each in gaps.times().between] == [("input", 7.5), ("python", 2.5)]


def test_python_at_the_head_of_a_loop_over_a_dataset_frees_its_iterator(tmp_path: Path) -> None:
    """That it is over a dataset is seen where the loop waits for batches; a head that never waits may make items."""
    file = tmp_path / "train.py"
    file.write_text("for batch in dataset:\n    train(batch)\nfor item in zip(items):\n    use(item)\n")
    gaps = Gaps(Clock())
    waits = [f"{file}:1", f"{TENSORFLOW}data/ops/iterator_ops.py __next__"]
    seen(gaps, (1, waits), (12, [f"{file}:1"]), (4, [f"{file}:3"]), (3, [f"{file}:2"]))
    told = [(each.doing, each.seconds, each.line) for each in gaps.times().between]
    assert told == [("freed", 6.0, 1), ("python", 3.5, 3), ("input", 0.5, 1)]


LIBRARY = "def generate(model):\n    start(model)\n    while model.goes_on():\n        model.step()\n"


def test_ops_of_a_librarys_loop_are_told_by_the_line_that_calls_it(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "generation.py"
    library.parent.mkdir()
    library.write_text(LIBRARY)
    gaps = Gaps(Clock())
    called = [f"{MINE}:7 main", f"{library}:4 generate"]
    seen(gaps, (9, [*called, OP]), (9, [*called, f"{KERAS}layers/layer.py __call__", OP]), (2, [f"{MINE}:9 main", OP]))
    (ops,) = gaps.times().outside
    assert (ops.doing, ops.seconds, ops.place, ops.function, ops.by_library) == (
        "ops",
        10.0,
        "train.py:7",
        "main",
        True,
    )


@pytest.mark.parametrize(
    ("package", "line", "elsewhere"),
    [
        ("transformers", 2, 0),  # it is in no loop of the library
        ("keras", 4, 0),  # Keras goes through the layers of a model
        ("transformers", 4, 10),  # another line runs as many ops
    ],
)
def test_ops_that_no_librarys_loop_repeats_have_no_line(
    tmp_path: Path, package: str, line: int, elsewhere: int
) -> None:
    library = tmp_path / "site-packages" / package / "generation.py"
    library.parent.mkdir(parents=True)
    library.write_text(LIBRARY)
    gaps = Gaps(Clock())
    seen(gaps, (18, [f"{MINE}:7 main", f"{library}:{line} generate", OP]), (elsewhere, [f"{MINE}:9 main", OP]))
    (ops,) = gaps.times().outside
    assert (ops.place, ops.by_library) == ("", False)


def test_ops_are_told_by_their_loop(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("setup()\nfor batch in batches:\n    first(batch)\n    second(batch)\n")
    gaps = Gaps(Clock())
    seen(gaps, (10, [f"{file}:3", OP]), (10, [f"{file}:4", OP]))
    (ops,) = gaps.times().outside
    assert (ops.doing, ops.seconds, ops.place, ops.function) == ("ops", 10.0, "train.py:2", "")


def test_a_loop_around_the_capture_is_not_that_of_its_ops(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("for trial in range(3):\n    gaps = Gaps(clock)\n    first()\n    second()\n")
    program: dict[str, Any] = {"Gaps": Gaps, "clock": Clock(), "first": int, "second": int}
    exec(compile(file.read_text(), str(file), "exec"), program)
    seen(program["gaps"], (10, [f"{file}:3", OP]), (10, [f"{file}:4", OP]))
    (ops,) = program["gaps"].times().outside
    assert (ops.doing, ops.place) == ("ops", "")


def test_a_file_is_parsed_once_however_many_lines_were_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "train.py"
    file.write_text("for batch in batches:\n    train(batch)\n")
    parse = Mock(side_effect=ast.parse)
    monkeypatch.setattr(ast, "parse", parse)
    gaps = Gaps(Clock())
    deep = [f"{file}:2"] + [f"{file}:2 train"] * 50
    seen(gaps, *((1, [*deep, f"{file}:{line} train"]) for line in range(1, 200)), *[(1, [*deep, OP])] * 20)
    (python, ops) = gaps.times().between
    assert (python.doing, ops.doing) == ("python", "ops")
    assert (
        parse.call_count == 4
    )  # for the heads of loops and for the loop of ops, in all gaps and in those between runs


def test_many_different_stacks_lose_their_lines_and_not_their_time() -> None:
    gaps = Gaps(Clock())
    seen(gaps, *((1, [f"{MINE}:{line}"]) for line in range(1, MOST_STACKS + 500)))
    (python,) = gaps.times().between
    assert python.seconds == 10.0
    assert len(gaps._known) == MOST_STACKS + 1


def test_the_thread_that_made_the_last_run_is_looked_at() -> None:
    gaps = Gaps(Clock())
    opener = gaps.thread
    assert opener == get_ident()
    thread = Thread(target=lambda: gaps.ends(1.0))
    thread.start()
    thread.join()
    assert gaps.thread != opener


def test_the_thread_of_the_cell_is_looked_at_until_the_block_is_over() -> None:
    looked, may_end = Event(), Event()

    class Seen(Gaps):
        def see(self, frame: Any) -> None:
            while frame is not None:
                if isinstance(frame.f_code, CodeType) and frame.f_code.co_name == "work_of_the_cell":
                    looked.set()
                frame = frame.f_back

    def work_of_the_cell() -> None:
        with sampled_gaps(Seen(), interval=0.001):
            assert looked.wait(60)
            may_end.set()

    thread = Thread(target=work_of_the_cell)
    thread.start()
    thread.join()
    assert may_end.is_set()


def test_a_stack_that_cannot_be_read_is_passed_over() -> None:
    """The other thread runs on while it is looked at: once CPython gave a function for a frame."""
    looks, again = [], Event()

    class Unreadable(Gaps):
        def see(self, frame: Any) -> None:
            looks.append(frame)
            if len(looks) == 1:
                raise AttributeError("'function' object has no attribute 'f_code'")
            again.set()

    with sampled_gaps(Unreadable(), interval=0.001):
        assert again.wait(60)
