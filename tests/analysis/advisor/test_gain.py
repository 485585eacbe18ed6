"""What a finding promises: predicted by a replay where that holds, on steps worked out by hand."""

from __future__ import annotations

import pytest

from tests.analysis.advisor.findings import only
from tests.analysis.replay.worked import graph_of, micros, profile_of
from tfprof_widget.analysis.advisor.finding import share_of_whole
from tfprof_widget.analysis.advisor.slow_ops import layout
from tfprof_widget.api.profile import Profile

IN_TURN = "a:0-10 turned(a):10-30 long(turned):30-80 end(long):80-90"
BESIDE = "a:0-10 long(a):10-60 turned(a):10-30 end(turned,long):60-70"


def _turned(step: str) -> Profile:
    graph = graph_of(step)
    next(node for node in graph.node if node.name == "turned").op = "Transpose"
    return profile_of(step, graph=graph)


def test_what_is_on_the_path_is_gained() -> None:
    """Without 20 of 90 microseconds a step takes 70."""
    profile = _turned(IN_TURN)
    finding = only(layout(profile))
    assert finding.gain is not None
    assert (micros(finding.gain.seconds), micros(finding.gain.replayed)) == (70, 90)
    assert share_of_whole(finding, profile) == pytest.approx(2 / 9)
    assert "Replayed without this, a step takes 70 µs instead of 90 µs, between " in str(finding)


def test_what_runs_beside_something_longer_gains_nothing() -> None:
    """The transposing takes a fifth of the op time, but all of it beside an op that lasts 30 longer."""
    profile = _turned(BESIDE)
    finding = only(layout(profile))
    assert finding.of_step > 0.2
    assert finding.gain is not None
    assert micros(finding.gain.seconds) == micros(finding.gain.replayed) == 70
    assert share_of_whole(finding, profile) == 0


def test_large_profiles_are_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfprof_widget.analysis.advisor.finding.MOST_REPLAYED", 3)
    profile = _turned(IN_TURN)
    finding = only(layout(profile))
    assert finding.gain is None
    assert share_of_whole(finding, profile) == pytest.approx(2 / 9)
