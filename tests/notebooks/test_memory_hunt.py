"""The hunt for memory: the planted op is the largest, to the byte, and gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.notebooks.notebook import Notebook
from tests.notebooks.shipped import assert_accounted, executed, outputs_of, printed

DIFFERENCES = 512 * 512 * 64 * 4
DISTANCES = 512 * 512 * 4
POINTS = 512 * 64 * 4


@pytest.fixture(scope="module")
def hunt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    with executed("memory_hunt", tmp_path_factory.mktemp("hunt")) as notebook:
        yield notebook


def memory(notebook: Notebook, capture: str) -> dict[str, list[float]]:
    """The four sizes of each op type."""
    frame = f"{capture}.view('op', order_by='bytes').to_dataframe()[memory]"
    return {name: sizes for name, *sizes in notebook.value(f"{frame}.values.tolist()")}


def test_the_planted_difference_holds_the_most(hunt: Notebook) -> None:
    found = memory(hunt, "before")
    assert next(iter(found)) == "Sub"
    assert found["Sub"] == [DIFFERENCES] * 4
    assert found["Square"] == [0, 0, 0, 0]  # fused
    assert found["Relu"] == [0, 0, 0, POINTS]  # in the buffer of the product
    assert found["Sum"][3] == DISTANCES
    assert found["MatMul"][3] == POINTS


def test_the_code_view_leads_to_the_function(hunt: Notebook) -> None:
    (shown,) = outputs_of(hunt, "lines")
    lines = shown.data["text/plain"].splitlines()
    (function,) = [line for line in lines if ":by_difference " in line]
    assert "/68.16MB" in function  # Sub, Sum and the scalars between them


def test_the_memory_tab_is_shown(hunt: Notebook) -> None:
    assert any("application/vnd.jupyter.widget-view+json" in each.data for each in outputs_of(hunt, "curve"))


def test_after_the_fix_nothing_is_larger_than_the_result(hunt: Notebook) -> None:
    found = memory(hunt, "after")
    largest = max(sizes[3] for sizes in found.values())
    assert max(sizes[0] for sizes in found.values()) <= DISTANCES + POINTS  # the two products
    assert largest < DIFFERENCES / 10
    assert printed(hunt, "compare").endswith("same loss: True\n")


def test_little_is_not_accounted_for(hunt: Notebook) -> None:
    assert_accounted(hunt, "before", "after")
