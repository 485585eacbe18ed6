"""The code of charts, graph and exports lies once in a saved notebook; every result stands alone without it."""

from __future__ import annotations

import re

import pytest

from tfprof_widget.demo import demo_profile
from tfprof_widget.widget import traits
from tfprof_widget.widget.report import CARRIED, block, code_version, report
from tfprof_widget.widget.shown import Shown
from tfprof_widget.widget.traits import TfprofWidget

RESULTS = 10
UNKNOWN = (None, "")


def parts(saved: str) -> list[str]:
    return re.findall(r'<script type="text/plain" data-part="([\w-]+)"', saved)


def saved_by(cells: list[str | None], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The blocks that widgets leave when these cells run, one after the other."""
    displayed: list[str] = []

    def display(data: dict[str, str], metadata: object, raw: bool) -> None:
        displayed.extend(filter(None, [data.get("text/html")]))

    traits._shared().clear()  # as in a kernel that has just been started
    monkeypatch.setattr("IPython.display.display", display)
    for cell in cells:
        monkeypatch.setattr(traits, "_cell", lambda cell=cell: (cell, ""))
        TfprofWidget(demo_profile())._ipython_display_()
    return displayed


def carries(saved: str) -> bool:
    """Whether it has all that lies once; nothing has a part of it."""
    found = {*parts(saved)} & {*CARRIED}
    assert found in (set(), {"carried", "charts"})
    return bool(found)


def test_ten_results_have_charts_and_graph_once(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = saved_by([f"cell {index}" for index in range(RESULTS)], monkeypatch)
    assert [*map(carries, saved)] == [True] + (RESULTS - 1) * [False]
    assert sum(map(len, saved)) <= 2_500_000
    for each in saved:
        assert {"widget", "panels", "page", "state", "columns-0"} <= set(parts(each))


def test_the_cell_that_has_them_has_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = saved_by(["a", "b", "a"], monkeypatch)
    assert [*map(carries, saved)] == [True, False, True]


def test_cells_without_names_each_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(map(carries, saved_by([None, None], monkeypatch)))


def test_they_name_their_version_and_a_page_has_them_itself() -> None:
    exhibit = Shown.of_profile(demo_profile())
    for part in CARRIED:
        versioned = f'data-part="{part}" data-version="{code_version()}"'
        assert versioned in report(exhibit)
        assert versioned in block(exhibit)
        assert versioned not in block(exhibit, is_carrier=False)


def test_a_notebook_that_runs_again_in_the_same_kernel_has_them_again() -> None:
    assets = traits.Assets()
    assert [assets.is_carrier("a = 1", "first"), assets.is_carrier("b = 2", "first")] == [True, False]
    assert [assets.is_carrier("a = 2", "second"), assets.is_carrier("b = 2", "second")] == [True, False]


def asked(message: str, **told: object) -> dict[str, object]:
    """What a kernel is sent to run a cell; jupyter_client numbers the messages of its session and process."""
    return {"header": {"msg_id": message, "session": "5a-b1"}, "content": {"code": "w.chart"}, "metadata": {}, **told}


@pytest.mark.parametrize(
    ("parent", "cell"),
    [
        ({"metadata": {"cellId": "abc"}}, ("abc", "")),
        ({"metadata": {"cellId": 3}}, UNKNOWN),
        ({}, UNKNOWN),
        (None, UNKNOWN),
        (asked("5a-b1_412_7", metadata={"cellId": "abc"}), ("abc", "")),
        (asked("5a-b1_412_7"), ("w.chart", "5a-b1")),
        (asked("5a-b1_412_7", metadata={"cellId": ""}), ("w.chart", "5a-b1")),
        (asked("0f1c9d3e-9a6d-4d2f-8e0b-3f4b7c1d2e3f"), UNKNOWN),
        (asked("5a-b2_412_7"), UNKNOWN),
    ],
)
def test_the_host_names_the_cell_or_does_not(
    parent: object, cell: tuple[str | None, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Shell:
        def get_parent(self) -> object:
            return parent

    monkeypatch.setattr("IPython.core.getipython.get_ipython", Shell)
    assert traits._cell() == cell
