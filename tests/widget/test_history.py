"""What the browser gets of a cell's runs, and what the kernel answers when other groups are chosen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.comparing.runs import Maker
from tfprof_widget.analysis.comparing.compared import ComparedRuns
from tfprof_widget.api.comparison import Comparison
from tfprof_widget.api.race import Racing
from tfprof_widget.demo import demo_profile
from tfprof_widget.profiles.kept_run import KeptRun
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


class Course:
    """What the code of runs does in a race: the clock goes on, by a quarter more after the change."""

    def __init__(self) -> None:
        self.now = 0.0
        self.called: list[str] = []

    def call(self, source: str) -> Callable[[], None]:
        def run() -> None:
            self.called.append(source)
            self.now += (0.1, 0.125)[source == "fit(2)"] * (1 + len(self.called) % 3 / 100)
            if source == "broken()":
                raise NameError("x")

        return run

    def rerun(self, before: KeptRun, after: KeptRun) -> Racing:
        calls = {run.title: self.call(run.source) for run in (before, after)}
        return Racing(calls, clock=lambda: self.now)


def racing_widget(course: Course, after: str = "fit(2)") -> TfprofWidget:
    made = Maker(40, of_run=0.01)
    runs = [*made.runs(3, source="fit()"), *made.runs(3, source=after)]
    return TfprofWidget(replace(Shown.of_profile(demo_profile()), history=ShownHistory.of(runs, rerun=course.rerun)))


RACE = {"request": "race", "before": [0, 1, 2], "after": [3, 4, 5]}


async def is_over(widget: TfprofWidget) -> None:
    while widget._race is not None and not widget._race.is_over:
        await asyncio.sleep(0)


def test_the_kernel_races_the_code_of_both_sides(said: list[Any]) -> None:
    async def race() -> None:
        widget = racing_widget(course)
        assert widget._history["comparison"]["can_race"]
        _answer(widget, RACE, [])
        _answer(widget, RACE, [])  # one at a time
        assert course.called == []  # the message is answered before the first block
        await is_over(widget)

    course = Course()
    asyncio.run(race())
    *progress, last = said
    assert last["answer"] == "raced", last
    assert {each["answer"] for each in progress} == {"race"}
    shares = [each["share"] for each in progress]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1
    assert progress[-1]["rounds"] >= 3
    found = json.loads(json.dumps(last["comparison"], allow_nan=False))
    assert found["step"]["verdict"] == "slower"
    assert found["step"]["low"] < 1.25 < found["step"]["high"]
    assert "".join(text for text, _ in found["sentence"]).startswith("From In[3] to In[6] a call became 1.2")
    assert found["raced"].startswith("In[3] and In[6] ran in turns, ")
    assert (found["before"], found["diff"][-2:]) == ([0, 1, 2], ["-fit()", "+fit(2)"])


def test_a_race_is_stopped_between_two_blocks(said: list[Any]) -> None:
    async def race() -> None:
        widget = racing_widget(course)
        _answer(widget, RACE, [])
        while not course.called:
            await asyncio.sleep(0)
        _answer(widget, {"request": "stop race"}, [])
        await is_over(widget)

    course = Course()
    asyncio.run(race())
    assert course.called == ["fit()"]
    assert [each["answer"] for each in said] == ["race", "raced"]
    assert said[-1]["comparison"]["step"]["verdict"] == "cannot tell"


def test_without_a_loop_the_race_is_over_when_the_message_is_answered(said: list[Any]) -> None:
    _answer(racing_widget(Course()), RACE, [])
    assert said[-1]["answer"] == "raced"


def test_code_that_fails_ends_the_race(said: list[Any]) -> None:
    _answer(racing_widget(Course(), after="broken()"), RACE, [])
    assert said[-1] == {"answer": "race failed", "reason": "the race ended: NameError: x"}


@pytest.mark.parametrize("after", ["fit()", ""])
def test_where_no_other_code_is_known_there_is_no_race(said: list[Any], after: str) -> None:
    widget = racing_widget(Course(), after)
    _answer(widget, {**RACE, "before": [0], "after": [3]}, [])
    assert said[0]["answer"] == "race failed"
    assert "no other code to run" in said[0]["reason"]


def test_where_nothing_can_run_code_there_is_no_race() -> None:
    assert not shown().to_browser["comparison"]["can_race"]
