"""The MNIST of the documents in a notebook: its counts are worked out by hand, and both ways to profile it agree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebooks.notebook import Notebook, told
from tests.notebooks.shipped import assert_accounted, executed, outputs_of, printed

PARAMETERS = 784 * 10 + 10
PRODUCT = 2 * 100 * 784 * 10


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    folder: Path = tmp_path_factory.mktemp("sessions")
    with executed("sessions", folder) as notebook:
        yield notebook
        assert list(folder.iterdir()) == []


def test_the_kinds_of_runs_are_told_apart(sessions: Notebook) -> None:
    assert {name: seen for name, (seen, _) in sessions.runs().items()} == {"train": 100, "accuracy": 1}
    assert "of 100 runs traced\naccuracy: 1 of 1 runs traced\n" in printed(sessions, "runs")


def test_a_training_step_has_the_products_that_the_prose_tells_of(sessions: Notebook) -> None:
    """The graph has three; the first runs in one kernel with the addition, under the addition's name."""
    (row,) = re.findall(r"^MatMul .*", printed(sessions, "profile"), re.MULTILINE)
    assert row.endswith(" 1|3")
    scope = "prof.view('scope').to_dataframe().set_index('name').total_float_ops[{!r}]"
    assert sessions.value(f"float({scope.format('softmax')})") == PRODUCT + 100 * 10
    assert sessions.value(f"float({scope.format('gradients/softmax/MatMul_grad')})") >= PRODUCT


def test_the_code_view_shows_the_lines_of_the_notebook_only(sessions: Notebook) -> None:
    (shown,) = outputs_of(sessions, "code")
    _, *lines = shown.data["text/plain"].partition("_TFProfRoot")[2].splitlines()
    assert lines
    *lines, left_out = lines
    assert [line for line in lines if not (line.strip().startswith("In[") and "<module>" in line)] == []
    assert left_out.startswith("Left out: ")


def test_the_calls_of_tf_profiler_count_the_trainable_parameters(sessions: Notebook) -> None:
    assert printed(sessions, "parameters").endswith(f"total_params: {PARAMETERS}\n")
    assert "softmax/W (784x10, 7.84k/7.84k params)" in printed(sessions, "parameters")


def test_the_profiler_has_the_mean_of_its_steps(sessions: Notebook) -> None:
    assert sessions.value("profiler.profile.steps") == (0, 1, 2, 3, 4)
    text = printed(sessions, "profiler-steps")
    assert "ExpensiveOperationChecker:\ntop 1 operation type: " in text
    assert told(outputs_of(sessions, "profile")[0]).startswith("\n=====")


def test_little_is_not_accounted_for(sessions: Notebook) -> None:
    assert_accounted(sessions, "prof")
