"""What a notebook keeps of results, as `--save` and `%config TfprofMagics.save` say, by nbclient and a real kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.notebooks.notebook import Notebook, opened_notebook

LIVE = "application/vnd.jupyter.widget-view+json"
KEPT = {"image/png", "text/html", "text/markdown", "text/plain"}
SET_UP = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
multiply = tf.function(lambda matrix: tf.matmul(matrix, matrix))
ones = tf.ones((64, 64))
%load_ext tfprof_widget
"""
CELL = "%%tfprof --all --view op {arguments}\nfor _ in range(3):\n    multiply(ones)"


@pytest.fixture(scope="module")
def fresh() -> Iterator[Notebook]:
    """A notebook in which no result has the code of the charts yet."""
    with opened_notebook() as opened:
        assert [each for each in opened.run(SET_UP) if each.output_type == "error"] == []
        yield opened


def displayed(notebook: Notebook, arguments: str) -> list[dict[str, Any]]:
    """What the cell displays, the live widget first."""
    outputs = notebook.run_well(CELL.format(arguments=arguments))
    found = [output.data for output in outputs if output.output_type == "display_data" and output.data]
    assert LIVE in found[0]
    return found


def is_page(html: str) -> bool:
    return "data-part=" in html and "<script>" in html


def test_a_page_opens_without_a_kernel_and_the_first_has_the_charts_for_all(fresh: Notebook) -> None:
    pages = [displayed(fresh, arguments)[1] for arguments in ("--save page", "", "--save page --name third")]
    assert all(set(page) == KEPT and is_page(page["text/html"]) for page in pages)
    for part in ("carried", "charts"):
        carry = [f'data-part="{part}" data-version=' in page["text/html"] for page in pages]
        assert carry == [True, False, False]


def test_a_picture_has_no_scripts(fresh: Notebook) -> None:
    _, picture = displayed(fresh, "--save picture")
    assert set(picture) == KEPT
    assert "<script" not in picture["text/html"]
    assert "MatMul" in picture["text/html"]
    assert len(picture["text/html"]) < 50_000


def test_nothing_is_text_beside_the_live_widget(fresh: Notebook) -> None:
    (alone,) = displayed(fresh, "--save none")
    assert "MatMul" in alone["text/plain"]


def test_a_default_holds_for_all_cells_that_say_nothing_else(fresh: Notebook) -> None:
    fresh.run_well('%config TfprofMagics.save = "picture"')
    try:
        assert not is_page(displayed(fresh, "")[1]["text/html"])
        assert is_page(displayed(fresh, "--save page")[1]["text/html"])
        assert len(displayed(fresh, "--save none")) == 1
    finally:
        fresh.run_well('%config TfprofMagics.save = "page"')


def test_any_other_word_is_refused_and_the_cell_does_not_run(fresh: Notebook) -> None:
    outputs = fresh.run("%%tfprof --save poster\nran = True")
    assert "page, picture, none" in str(outputs)
    assert fresh.value("'ran' in globals()") is False
