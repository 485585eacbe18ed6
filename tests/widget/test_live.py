"""What stands below a running cell without scripts, and what the page is told of it."""

from __future__ import annotations

import json

from tests.jobs_told import TRAINING
from tfprof_widget.profiles.live import LiveState
from tfprof_widget.widget.live import LiveWidget, live_html, live_to_browser, sentence, spark


def test_what_is_kept_says_it_in_a_sentence_with_bars() -> None:
    assert sentence(TRAINING) == (
        "running for 100 s: 312 steps of train, 125 ms each lately (100 ms at first), 14 of 312 runs traced"
    )
    html = live_html(TRAINING, "In[7]")
    assert "<h3>In[7] · running for 100 s" in html
    for part in ("first steps, 10 s, 10 %", "312 steps, 40 s, 40 %", "waiting for input, 20 s, 20 %"):
        assert part in html
    assert "MatMul: 50 ms" in html
    assert spark((0.1, 0.1, 0.125, 0.25, 0.125)) in html


def test_before_the_first_step_nothing_is_made_up() -> None:
    assert sentence(LiveState(phase="first runs", seconds=3.0)) == (
        "first runs: functions are built and compiled, after 3 s"
    )
    assert sentence(LiveState(phase="running", seconds=3.0, step_seconds=1.0)) == "running for 3 s"
    assert "step" not in live_html(LiveState(phase="starting")).partition("</style>")[2]


def test_names_are_shown_and_not_run() -> None:
    bad = "<script>alert(1)</script>"
    html = live_html(LiveState(phase="running", runs=1, steps=1, kind=bad, costliest=((bad, 1.0),)), bad)
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 3


def test_the_page_is_told_in_few_bytes() -> None:
    """Twice a second 200 steps and all parts: that must stay far below what a notebook's socket takes."""
    state = LiveState("cell", "running", strip=(1 / 3,) * 200, parts={"steps": 2 / 3, "python": 1 / 3})
    told = live_to_browser(state)
    assert told["told"] == "running"
    assert [part[:2] for part in told["parts"]] == [["steps", "steps"], ["python", "Python between steps"]]
    assert len(json.dumps(told)) < 4000


def test_finished_views_are_forgotten_when_there_is_another_one() -> None:
    first = LiveWidget("one")
    first.finish()
    assert first.comm is not None
    LiveWidget("two")
    assert first.comm is None
