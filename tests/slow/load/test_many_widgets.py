"""Many widgets in a notebook: each costs its columns and little more, and gives all back when it is closed."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import pytest
from ipywidgets import Widget

from tests.slow.load.memory import held, traced_memory
from tests.slow.share import share
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.static_files import static_bytes
from tfprof_widget.widget.traits import TfprofWidget, shared_assets

WIDGETS = share(200, 40)


@pytest.fixture
def widgets() -> Iterator[list[TfprofWidget]]:
    made: list[TfprofWidget] = []
    yield made
    for widget in made:
        widget.close()


def test_widgets_share_what_draws_them(widgets: list[TfprofWidget]) -> None:
    profile = demo_profile()
    profile.widget().close()  # what all of them share is there from now on
    columns = len(profile.widget()._graphs[0]["columns"])
    with traced_memory():
        before = held()
        widgets += [profile.widget() for _ in range(WIDGETS)]
        each = (held() - before) / WIDGETS
    assert each < columns + 40_000 < len(static_bytes("widget.js"))
    assert len({id(widget._esm) for widget in widgets}) == 1
    assert {id(widget._assets) for widget in widgets} == {id(shared_assets())}


def test_widgets_that_are_closed_are_gone(widgets: list[TfprofWidget]) -> None:
    profile = demo_profile()
    profile.widget().close()  # what all of them share is there from now on
    others = {id(each) for each in _alive()}
    with traced_memory():
        before = held()
        made = [profile.widget() for _ in range(WIDGETS)]
        references = [weakref.ref(widget) for widget in made]
        for widget in made:
            widget.close()
        del made, widget
        left = (held() - before) / WIDGETS
    assert [reference() for reference in references] == [None] * WIDGETS
    assert left < 8_000
    assert {id(each) for each in _alive() if isinstance(each, TfprofWidget)} <= others


def _alive() -> list[Widget]:
    """All widgets that ipywidgets keeps for the browser to find."""
    from ipywidgets.widgets import widget

    return list(widget._instances.values())


def test_options_of_one_of_many_widgets_are_its_own(widgets: list[TfprofWidget]) -> None:
    profile = demo_profile()
    widgets += [profile.widget("op") for _ in range(WIDGETS)]
    widgets[WIDGETS // 2].min_micros = 100
    assert sum(widget.min_micros for widget in widgets) == 100
    assert widgets[WIDGETS // 2].to_dataframe()["name"].tolist() == ["MatMul", "Relu", "ApplyGradientDescent"]
    assert len(widgets[WIDGETS // 2 - 1].to_dataframe()) > 3
