"""A recurrent network: what is in its loop runs once a turn, and what is taken out runs once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.notebooks.notebook import Notebook
from tests.notebooks.shipped import assert_accounted, executed, outputs_of, printed

TURNS, BATCH, FEATURES, UNITS = 40, 32, 64, 128
FROM_INPUT = 2 * TURNS * BATCH * FEATURES * UNITS
FROM_STATE = 2 * TURNS * BATCH * UNITS * UNITS


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    with executed("while_loop", tmp_path_factory.mktemp("loop")) as notebook:
        yield notebook


def rows(notebook: Notebook, capture: str) -> dict[str, tuple[float, float]]:
    """How often each node ran, and its float operations."""
    frame = f"{capture}.view('scope').to_dataframe()[['name', 'runs', 'float_ops']]"
    return {name: (runs, float_ops) for name, runs, float_ops in notebook.value(f"{frame}.values.tolist()")}


def test_ops_run_as_often_as_the_loop_turns(loop: Notebook) -> None:
    ran = rows(loop, "prof")
    assert ran["while/cell/from_input"] == (TURNS, FROM_INPUT)
    assert ran["while/cell/from_state"] == (TURNS, FROM_STATE)
    assert ran["while/cell/Tanh"][0] == TURNS
    assert ran["while/Less"][0] == TURNS + 1


def test_the_costliest_are_shown_a_turn(loop: Notebook) -> None:
    (shown,) = outputs_of(loop, "turns")
    assert "micros_a_turn" in shown.data["text/plain"]
    assert "while/cell/from_state" in shown.data["text/plain"]


def test_the_timeline_is_shown(loop: Notebook) -> None:
    assert any("application/vnd.jupyter.widget-view+json" in each.data for each in outputs_of(loop, "timeline"))


def test_out_of_the_loop_the_product_is_one(loop: Notebook) -> None:
    ran = rows(loop, "faster")
    assert ran["from_input"] == (1, FROM_INPUT)
    assert ran["while/cell/from_state"] == (TURNS, FROM_STATE)
    assert printed(loop, "compare") == (
        f"in the loop: while/cell/from_input, runs: {TURNS}, float operations: {FROM_INPUT:,}\n"
        f"before it: from_input, runs: 1, float operations: {FROM_INPUT:,}\n"
        "same result: True\n"
    )


def test_little_is_not_accounted_for(loop: Notebook) -> None:
    assert_accounted(loop, "prof", "faster")
