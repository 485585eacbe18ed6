"""What the browser gets to replay steps by: no more than it needs, and else the reason; the numbers are compared by
`js/src/state/what_if.test.ts` and `tests/analysis/replay/test_real.py`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analysis.replay.test_worked import CHAIN, DIAMOND
from tests.analysis.replay.worked import profile_of
from tests.sketches import profile_of as sketched
from tfprof_widget.demo import demo_profile
from tfprof_widget.widget import replay_columns as module
from tfprof_widget.widget.replay_columns import critical_columns, replay_columns


def test_of_a_step_on_one_thread_nothing_is_sent_row_by_row() -> None:
    chain = profile_of(CHAIN)
    found: dict[str, Any] = dict(replay_columns(chain, chain))
    assert {name: len(column) for name, column in found.items()} == {
        "replay.steps": 1,
        "replay.before": 1,
        "replay.after": 1,
        "replay.measured": 1,
        "replay.sent": 1,
        "replay.workers": 1,
        "replay.left_out": 0,
        "replay.fitted": 3,
    }


def test_of_threads_gaps_and_edges_are_sent() -> None:
    """Of the diamond `a` gives to `b` and `c`, and these to `d`."""
    diamond = profile_of(DIAMOND)
    found: dict[str, Any] = dict(replay_columns(diamond, diamond))
    assert found["replay.workers"].tolist() == [2]
    assert (found["replay.gives"] >> 1).tolist() == [2, 1, 1, 0]
    assert found["replay.targets"].tolist() == [1, 2, 2, 1]
    assert found["replay.gap"].tolist() == [0, 0, 0, 0]
    assert "replay.other" not in found


def test_too_many_executions_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 3)
    diamond = profile_of(DIAMOND)
    (reason,) = dict(replay_columns(diamond, diamond))["replay.reason"]
    assert reason == "4 executions are too many to replay while you watch; ask `profile.what_if(...)`"


def test_where_nodes_were_put_together_the_reason_says_so() -> None:
    demo = demo_profile()
    part = sketched("a = Exp() 1us")
    (reason,) = dict(replay_columns(part, demo))["replay.reason"]
    assert "nodes were put together" in reason
    assert dict(critical_columns(part, demo)) == {}


def test_without_steps_nothing_is_sent() -> None:
    assert dict(replay_columns(sketched("a = Exp()"), sketched("a = Exp()"))) == {}


def test_executions_have_their_slack() -> None:
    """Of the diamond's arms the short one could end 20 microseconds later; -2 is on the path."""
    diamond = profile_of(DIAMOND)
    column = dict(critical_columns(diamond, diamond))["critical.execution_slack"]
    assert list(column) == [-2, -2, 20, -2]
