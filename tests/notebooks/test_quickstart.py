"""The quickstart: the costs of its convolutions by hand, its finding, and the files that it writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebooks.notebook import Notebook, parted
from tests.notebooks.shipped import assert_accounted, executed, outputs_of, printed

# Multiplications and additions for a batch of 32: 5 x 5 weights a channel, at each pixel.
FIRST = 2 * 32 * 28 * 28 * 25 * 1 * 16
SECOND = 2 * 32 * 14 * 14 * 25 * 16 * 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quickstart")


@pytest.fixture(scope="module")
def quickstart(folder: Path) -> Iterator[Notebook]:
    with executed("quickstart", folder) as notebook:
        yield notebook


def test_the_fit_is_followed_by_its_profile(quickstart: Notebook) -> None:
    own, page = parted(outputs_of(quickstart, "fit"))
    assert own == []
    assert f"of {2 * 1024 // 32}" in page
    assert quickstart.runs()["fit: train_step"][0] == 2 * 1024 // 32


def test_convolutions_compute_what_their_shapes_say(quickstart: Notebook) -> None:
    """Of the first nobody asks for the gradient by its input, the images: it never runs."""
    rows = "prof.view('scope').to_dataframe().set_index('name')"
    ran = quickstart.value(f"{{name: (n.runs, n.float_ops) for name, n in {rows}.iterrows() if 'onvolution' in name}}")
    gradient = "gradient_tape/digits/{}/convolution/Conv2DBackprop{}"
    assert ran[gradient.format("second", "Input")][0] == ran[gradient.format("first", "Filter")][0] == 1
    assert ran[gradient.format("first", "Input")][0] == 0
    assert SECOND <= ran[gradient.format("second", "Input")][1] <= 1.01 * SECOND  # with biases, where they are fused
    assert FIRST <= ran[gradient.format("first", "Filter")][1] <= 1.05 * FIRST


def test_it_prints_the_costliest_op_types_first(quickstart: Notebook) -> None:
    head, titles, *rows = printed(quickstart, "op-types").splitlines()
    assert re.match(r"digits · cell \S+ m?s · runs traced ", head)
    assert titles.split() == ["name", "micros", "share", "runs"]
    times = [float(row.rsplit(None, 3)[1]) for row in rows]
    assert any("Conv2D" in row for row in rows)  # which is first is the machine's: of few steps it may be the input
    assert times == sorted(times, reverse=True)


def test_setting_a_control_changes_what_is_shown(quickstart: Notebook) -> None:
    assert quickstart.value("(w.max_depth, int(w.to_dataframe().depth.max()))") == (3, 2)  # the root is the first level


def test_advice_names_the_line_of_the_fit_and_the_function_that_is_traced_anew(quickstart: Notebook) -> None:
    """The kernel's own lines, from which everything is called, are of no use to anyone."""
    assert re.search(r"^In\[\d+\]:2:<module>, cpu: ", printed(quickstart, "fit-advice"), re.MULTILINE)
    assert "runpy" not in printed(quickstart, "fit-advice")
    assert "RetracingChecker:\nsimilarity was built 20 times in 20 calls" in printed(quickstart, "similarity-advice")


def test_what_the_prose_advises_against_retracing_helps(quickstart: Notebook) -> None:
    (cell,) = [each.source for each in quickstart.client.nb.cells if each.id == "similarity"]
    quickstart.run_well(cell.replace("@tf.function\n", "@tf.function(reduce_retracing=True)\n"))
    assert "was built" not in quickstart.value("str(calls.profiles[0].advice().reports['RetracingChecker'])")


def test_the_page_and_the_chart_lie_beside_the_notebook(quickstart: Notebook, folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {"digits.html", "digits.svg"}
    assert (folder / "digits.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "<!doctype html>" in (folder / "digits.html").read_text(encoding="utf-8")[:100].lower()


def test_little_is_not_accounted_for(quickstart: Notebook) -> None:
    assert_accounted(quickstart, "prof", "calls")
