"""What the browser gets of a cell's runs, and what the kernel answers when other groups are chosen."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.comparing.runs import Maker
from tfprof_widget.analysis.comparing.compared import ComparedRuns
from tfprof_widget.api.comparison import Comparison
from tfprof_widget.demo import demo_profile
from tfprof_widget.widget import history as module
from tfprof_widget.widget.history import ShownHistory
from tfprof_widget.widget.shown import Shown
from tfprof_widget.widget.traits import TfprofWidget, _answer


def shown() -> ShownHistory:
    made = Maker(40, of_run=0.01)
    return ShownHistory.of([*made.runs(3), *made.runs(3, factor=1.3, source="fit(2)")])


def test_what_the_browser_gets() -> None:
    told = json.loads(json.dumps(shown().to_browser, allow_nan=False))
    assert (told["before"], told["after"]) == ([0, 1, 2], [3, 4, 5])
    assert [run["title"] for run in told["runs"]] == [f"In[{number}]" for number in range(1, 7)]
    found = told["comparison"]
    assert found["step"]["verdict"] == "slower"
    assert "".join(text for text, _ in found["sentence"]).startswith(
        "From In[1] … In[3] to In[4] … In[6] a step became"
    )
    assert set(found["tables"]) == {"op", "layers", "scope", "code", "type"}
    assert found["diff"][-2:] == ["-fit()", "+fit(2)"]


def test_a_run_alone_has_nothing_to_compare() -> None:
    assert ShownHistory.of(Maker(5).runs(1)).to_browser["comparison"] is None


def test_large_graphs_are_compared_when_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OPS", 39)
    assert shown().to_browser["comparison"] is None


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What widgets say to the browser."""
    told: list[Any] = []
    monkeypatch.setattr(TfprofWidget, "send", lambda self, message, buffers=(): told.append(message))
    return told


def test_the_kernel_compares_other_groups(said: list[Any]) -> None:
    widget = TfprofWidget(replace(Shown.of_profile(demo_profile()), history=shown()))
    _answer(widget, {"request": "comparison", "before": [3, 4, 5], "after": [0, 1, 2]}, [])
    assert said[0]["answer"] == "comparison"
    assert said[0]["comparison"]["step"]["verdict"] == "faster"
    assert said[0]["comparison"]["before"] == [3, 4, 5]


@pytest.mark.parametrize("places", [[], [9]])
def test_groups_that_are_none(said: list[Any], places: list[int]) -> None:
    widget = TfprofWidget(replace(Shown.of_profile(demo_profile()), history=shown()))
    _answer(widget, {"request": "comparison", "before": places, "after": [0]}, [])
    assert said == [{"answer": "comparison failed", "reason": "history: choose runs on both sides"}]


def test_a_profile_without_runs(said: list[Any]) -> None:
    widget = TfprofWidget(demo_profile())
    assert widget._history == {}
    _answer(widget, {"request": "comparison", "before": [0], "after": [1]}, [])
    assert said == [{"answer": "comparison failed", "reason": "the kernel keeps no runs of this cell"}]


def test_the_widget_of_a_comparison() -> None:
    made = Maker(20)
    widget = Comparison(made.runs(3), made.runs(3)).widget()
    assert widget.view == "history"
    assert widget.title == "In[1] … In[3] → In[4] … In[6]"
    assert widget._history["comparison"]["step"]["runs"] == [3, 3]


def test_a_comparison_that_was_made_is_not_made_again() -> None:
    made = Maker(20)
    found = ComparedRuns(made.runs(3), made.runs(3))
    history = ShownHistory.of_comparison(found)
    assert history.described(history.before, history.after)["sentence"]
    assert history.given is found
