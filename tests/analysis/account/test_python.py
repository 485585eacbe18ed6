"""What Python was seen to do while no step ran, by line and by what libraries did."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from tfprof_widget.analysis.account.python import (
    FEWEST_LOOKS,
    PythonDoings,
    SeenSlices,
    doings,
    line_times,
    seen_calls,
    seen_slices,
    seen_stack,
)
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.profiles.cell import CELL_PARTS, CodeLine, PythonLooks
from tfprof_widget.profiles.tables import Lists

TENSORFLOW = "/venv/lib/python3.11/site-packages/tensorflow/python/"
KERAS = "/venv/lib/python3.11/site-packages/keras/src/"
FIT = f"{KERAS}backend/tensorflow/trainer.py fit"
OP = f"{TENSORFLOW}ops/gen_math_ops.py mat_mul"
MINE = "/home/me/train.py"
SECOND = 10**9

Stack = Sequence[str]
"""Frames, outermost first, each as `file function` or `file:line function`."""


def lines(stack: Stack) -> list[CodeLine]:
    found = []
    for each in stack:
        place, _, function = each.partition(" ")
        file, _, line = place.partition(":")
        found.append(CodeLine(file, int(line or 1), function or "<module>"))
    return found


def seen(
    *stacks: tuple[int, Stack], gap: int | Sequence[int] = 0, part: str = "python", begun_at: str = ""
) -> PythonLooks:
    """So many looks at each stack, which stand for ten seconds in all."""
    known: dict[CodeLine, int] = {}
    values = [[known.setdefault(line, len(known)) for line in lines(stack)] for _, stack in stacks]
    stack = np.repeat(np.arange(len(stacks)), [count for count, _ in stacks]).astype(np.int32)
    nanos = np.full(len(stack), 10 * SECOND // max(len(stack), 1), np.int64)
    code = np.full(len(stack), CELL_PARTS.index(part), np.int8)
    gaps = np.broadcast_to(np.array(gap, np.int32), stack.shape)
    begun = lines([begun_at])[0] if begun_at else None
    return PythonLooks(tuple(known), Lists.of(values), np.cumsum(nanos), nanos, stack, code, gaps, begun)


def told(found: PythonDoings) -> list[tuple[str, float, str]]:
    return [(each.doing, each.seconds, each.place) for each in found.between]


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
def test_what_a_stack_does(stack: Stack, doing: str) -> None:
    assert seen_stack(lines(stack)).doing == doing


def test_lines_are_the_users_own_and_the_outermost_comes_first() -> None:
    found = seen_stack(lines([f"{MINE}:3", f"{MINE}:7 main", FIT, f"{MINE}:9 on_batch_end"]))
    assert found.lines == ((MINE, 3, "<module>"), (MINE, 7, "main"), (MINE, 9, "on_batch_end"))


CALLBACK = [MINE, FIT, f"{KERAS}callbacks/callback_list.py on_batch_end", f"{MINE}:7 on_batch_end"]


def test_time_is_told_by_what_python_did_and_its_line() -> None:
    looks = seen((16, CALLBACK), (3, [f"{MINE}:20"]), (1, [f"{MINE}:21"]))
    assert told(doings(looks)) == [("callback", 8.0, "train.py:7"), ("python", 2.0, "train.py:20")]


def test_library_frames_are_charged_to_the_line_that_called_them() -> None:
    numpy = "/venv/lib/python3.11/site-packages/numpy/core.py dot"
    looks = seen((6, [f"{MINE}:3", numpy]), (3, [*CALLBACK, numpy]), (1, ["/lib/python3.11/threading.py wait"]))
    found = [(each.line.place, each.nanos, each.looks) for each in line_times(looks)]
    assert found == [
        ("train.py:3", 6 * SECOND, 6),
        ("train.py:7", 3 * SECOND, 3),
        ("threading.py:1", SECOND, 1),
    ]
    assert sum(nanos for _, nanos, _ in found) == 10 * SECOND
    assert line_times(looks, "input") == []


def test_looks_weigh_what_they_stand_for() -> None:
    looks = seen((10, [f"{MINE}:3"]), (10, [f"{MINE}:4"]))
    looks.nanos[:10] *= 3
    assert [(each.place, each.seconds) for each in doings(looks).outside] == [("train.py:3", 20.0)]
    assert [(each.line.line, each.nanos) for each in line_times(looks)] == [(3, 15 * SECOND), (4, 5 * SECOND)]


def test_calls_are_told_of_if_many_gaps_have_them() -> None:
    """At the end of an epoch Keras frees its input, which may take long and is no cost of a call."""
    calls = (100, [f"{MINE}:20", FIT])
    assert told(doings(seen(calls))) == []
    assert told(doings(seen(calls, gap=[at // 10 for at in range(100)]))) == [("calls", 10.0, "train.py:20")]


def test_what_came_before_the_first_run_is_not_between_runs() -> None:
    found = doings(seen((20, [f"{MINE}:3"]), (20, [f"{MINE}:4"]), gap=[ABSENT] * 20 + [7] * 20))
    assert [(each.line, each.seconds) for each in found.between] == [(4, 5.0)]
    assert [each.seconds for each in found.outside] == [10.0]


def test_of_what_was_seen_too_seldom_nothing_is_told() -> None:
    assert doings(seen((FEWEST_LOOKS - 1, [MINE]))) == PythonDoings((), ())
    assert [each.doing for each in doings(seen((FEWEST_LOOKS, [MINE]))).between] == ["python"]


def test_building_of_functions_is_not_pythons_own_time() -> None:
    assert doings(seen((20, [MINE]), part="tracing")) == PythonDoings((), ())


def test_python_in_the_head_of_a_loop_makes_its_items(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("for batch in batches():\n    train(batch)\n")
    looks = seen((15, [f"{file}:1", f"{file}:9 batches"]), (5, [f"{file}:2", f"{file}:19 train"]))
    assert [(each.doing, each.seconds) for each in doings(looks).between] == [("input", 7.5), ("python", 2.5)]


def test_python_at_the_head_of_a_loop_over_a_dataset_frees_its_iterator(tmp_path: Path) -> None:
    """That it is over a dataset is seen where the loop waits for batches; a head that never waits may make items."""
    file = tmp_path / "train.py"
    file.write_text("for batch in dataset:\n    train(batch)\nfor item in zip(items):\n    use(item)\n")
    waits = [f"{file}:1", f"{TENSORFLOW}data/ops/iterator_ops.py __next__"]
    looks = seen((1, waits), (12, [f"{file}:1"]), (4, [f"{file}:3"]), (3, [f"{file}:2"]))
    assert [(each.doing, each.seconds, each.line) for each in doings(looks).between] == [
        ("freed", 6.0, 1),
        ("python", 3.5, 3),
        ("input", 0.5, 1),
    ]


LIBRARY = "def generate(model):\n    start(model)\n    while model.goes_on():\n        model.step()\n"


def test_ops_of_a_librarys_loop_are_told_by_the_line_that_calls_it(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "generation.py"
    library.parent.mkdir()
    library.write_text(LIBRARY)
    called = [f"{MINE}:7 main", f"{library}:4 generate"]
    looks = seen(
        (9, [*called, OP]), (9, [*called, f"{KERAS}layers/layer.py __call__", OP]), (2, [f"{MINE}:9 main", OP])
    )
    (ops,) = doings(looks).outside
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
    looks = seen((18, [f"{MINE}:7 main", f"{library}:{line} generate", OP]), (elsewhere, [f"{MINE}:9 main", OP]))
    (ops,) = doings(looks).outside
    assert (ops.place, ops.by_library) == ("", False)


def test_ops_are_told_by_their_loop(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("setup()\nfor batch in batches:\n    first(batch)\n    second(batch)\n")
    (ops,) = doings(seen((10, [f"{file}:3", OP]), (10, [f"{file}:4", OP]))).outside
    assert (ops.doing, ops.seconds, ops.place, ops.function) == ("ops", 10.0, "train.py:2", "")


def test_a_loop_around_the_capture_is_not_that_of_its_ops(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("for trial in range(3):\n    with capture():\n        first()\n        second()\n")
    looks = seen((10, [f"{file}:3", OP]), (10, [f"{file}:4", OP]), begun_at=f"{file}:2")
    (ops,) = doings(looks).outside
    assert (ops.doing, ops.place) == ("ops", "")


def test_a_file_is_parsed_once_however_many_lines_were_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "train.py"
    file.write_text("for batch in batches:\n    train(batch)\n")
    parse = Mock(side_effect=ast.parse)
    monkeypatch.setattr(ast, "parse", parse)
    deep = [f"{file}:2"] + [f"{file}:2 train"] * 50
    looks = seen(*((1, [*deep, f"{file}:{line} train"]) for line in range(1, 200)), *[(1, [*deep, OP])] * 20)
    (python, ops) = doings(looks).between
    assert (python.doing, ops.doing) == ("python", "ops")
    assert parse.call_count == 1


def test_calls_are_a_tree_from_the_users_outermost_line_with_the_time_of_each_part() -> None:
    kernel = "/venv/lib/python3.11/site-packages/ipykernel/app.py main"
    stacks = [(4, [kernel, f"{MINE}:3"]), (3, [kernel, f"{MINE}:3", f"{KERAS}a.py f"]), (3, [kernel])]
    found = seen_calls([seen(*stacks), seen((1, [f"{MINE}:3"]), part="tracing")])
    assert [found.frames[each].place for each in found.frame.tolist()] == ["train.py:3", "a.py:1", "app.py:1"]
    assert found.above.tolist() == [ABSENT, 0, ABSENT]
    assert found.nanos.tolist() == [[4 * SECOND, 0, 10 * SECOND], [3 * SECOND, 0, 0], [3 * SECOND, 0, 0]]
    assert found.looks.tolist() == [5, 3, 3]
    assert [each.tolist() for each in found.of_stack] == [[0, 1, 2], [0]]


def test_of_many_calls_the_cheapest_count_for_those_above_them() -> None:
    looks = seen((5, [f"{MINE}:3", f"{MINE}:9 f"]), (3, [f"{MINE}:3", f"{MINE}:8 f"]), (2, [f"{MINE}:4"]))
    found = seen_calls([looks], most=2)
    assert [found.frames[each].line for each in found.frame.tolist()] == [3, 9]
    assert found.nanos[:, 0].tolist() == [3 * SECOND, 5 * SECOND]
    assert found.of_stack[0].tolist() == [1, 0, ABSENT]


def looked(*rows: tuple[int, int], part: str = "python") -> PythonLooks:
    """Looks at these moments, each at the stack of this number."""
    at, stack = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    lines = tuple(CodeLine(MINE, line, "f") for line in range(9))
    code = np.full(len(at), CELL_PARTS.index(part), np.int8)
    return PythonLooks(
        lines, Lists.of([[each] for each in range(9)]), at, at, stack.astype(np.int32), code, code.astype(np.int32)
    )


def busy(*stretches: tuple[int, int]) -> Intervals:
    return Intervals.of(*(np.array(column, np.int64) for column in zip(*stretches, strict=True)))


def drawn(found: SeenSlices) -> list[tuple[int, int, int]]:
    return [*zip(found.start.tolist(), (found.start + found.nanos).tolist(), found.stack.tolist(), strict=True)]


def test_looks_at_one_stack_are_one_slice_up_to_the_next_run() -> None:
    """A look every 10, and runs from 25 to 60 and from 85 to 100."""
    looks = looked((10, 1), (20, 1), (70, 1), (80, 2), (110, 2))
    assert drawn(seen_slices(looks, busy((25, 60), (85, 100)))) == [
        (0, 25, 1),
        (60, 70, 1),
        (70, 85, 2),
        (100, 120, 2),
    ]


def test_looks_within_runs_and_at_other_parts_are_no_slices() -> None:
    assert drawn(seen_slices(looked((10, 1), (30, 2)), busy((25, 60)))) == [(0, 25, 1)]
    assert drawn(seen_slices(looked((10, 1), part="steps"), busy((25, 60)))) == []


def test_of_many_looks_some_are_left_out_evenly() -> None:
    looks = looked(*((10 * at, at % 7) for at in range(1, 65)))
    found = seen_slices(looks, busy((1000, 1001)), most=20)
    assert 10 <= len(found.start) <= 20
    assert found.nanos.sum() >= 560  # of 640: nearly all of the time is still told
