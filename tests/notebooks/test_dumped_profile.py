"""A profile read from files: without TensorFlow, and with the numbers that the recorded messages hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jupyter_client.manager import AsyncKernelManager

from tests.notebooks.notebook import Notebook
from tests.notebooks.shipped import executed, outputs_of, printed
from tfprof_widget.demo import recorded
from tfprof_widget.lib.messages import GraphDef, RunMetadata


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    with executed("dumped_profile", tmp_path_factory.mktemp("dumped"), AsyncKernelManager) as notebook:
        yield notebook


@pytest.fixture(scope="module")
def products() -> tuple[int, int]:
    """How many matrix products ran, and how many there are."""
    graph = {node.name for node in GraphDef.FromString(recorded("graph")).node if node.op == "MatMul"}
    (device,) = RunMetadata.FromString(recorded("run_meta")).step_stats.dev_stats
    return sum(stat.node_name in graph for stat in device.node_stats), len(graph)


def test_it_does_without_tensorflow(dumped: Notebook) -> None:
    assert dumped.value("'tensorflow' in sys.modules") is False


def test_the_products_are_those_of_the_messages(dumped: Notebook, products: tuple[int, int]) -> None:
    (shown,) = outputs_of(dumped, "op-view")
    first = shown.data["text/plain"].splitlines()[2]
    assert first.startswith("MatMul ")
    assert first.endswith(" {}|{}".format(*products))
    (prose,) = [cell.source for cell in dumped.client.nb.cells if cell.id == "look-text"]
    assert "`MatMul` ran {} times, though the graph has {} nodes of this type".format(*products) in prose


def test_lines_of_code_come_from_the_op_log(dumped: Notebook) -> None:
    assert printed(dumped, "without-op-log") == "lines of code known: True with the op log, False without\n"


def test_the_saved_profile_is_the_same_but_for_rounding(dumped: Notebook) -> None:
    runs = "{{name: runs for name, runs in {}.view('op').to_dataframe()[['name', 'runs']].values.tolist()}}"
    again = runs.format("tfprof.load(dump / 'profile_0')")
    assert dumped.value(again) == dumped.value(runs.format("profile"))


def test_the_command_line_says_the_same(dumped: Notebook, products: tuple[int, int]) -> None:
    rows = printed(dumped, "command-line").splitlines()
    (row,) = [each for each in rows if each.startswith("MatMul ")]
    assert row.rstrip().endswith("{}|{}".format(*products))
    assert dumped.value("(dump / 'page.html').stat().st_size > 100_000")
