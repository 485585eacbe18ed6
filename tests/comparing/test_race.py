"""Races of callables that only advance a made up clock."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tfprof_widget.api.race import INTERRUPTED, Race, race


class Track:
    """A clock that calls advance, by times with noise; the machine is slower for a while now and then."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.now = 0.0
        self.called: list[str] = []

    def clock(self) -> float:
        return self.now

    def runner(self, name: str, seconds: float, *, stops_at: int = 0) -> Callable[[], None]:
        def call() -> None:
            self.called.append(name)
            if stops_at and len(self.called) >= stops_at:
                raise KeyboardInterrupt
            drift = 1.2 if self.now % 7 < 3 else 1.0
            self.now += seconds * drift * float(np.exp(self.random.normal(0, 0.02)))

        return call

    def race(self, old: float, new: float, seconds: float = 30, **stops: int) -> Race:
        runners = {"old": self.runner("old", old), "new": self.runner("new", new, **stops)}
        return race(runners, seconds=seconds, clock=self.clock)


def test_what_is_faster_is_told_before_time_is_up() -> None:
    track = Track()
    found = track.race(0.10, 0.08)
    assert found.step.verdict == "faster"
    assert found.step.low < 0.8 < found.step.high
    assert track.now < 15
    assert found.control.verdict not in ("slower", "faster")
    assert found.text().startswith("From old to new a call became 1.1")


def test_callables_without_ops_have_empty_tables() -> None:
    found = Track().race(0.10, 0.08)
    assert [len(found.to_dataframe(by)) for by in ("op", "layers", "scope", "code", "type")] == [0] * 5


def test_the_same_is_not_called_different() -> None:
    verdicts = [Track(seed).race(0.1, 0.1, seconds=20).step.verdict for seed in range(12)]
    assert sum(each in ("slower", "faster") for each in verdicts) <= 1


def test_the_turns_are_old_new_new_old() -> None:
    track = Track()
    track.race(0.5, 0.4, seconds=6)
    rounds = [track.called[place] for place in range(4, len(track.called))]  # after two warm-up calls each
    runs = [name for place, name in enumerate(rounds) if not place or name != rounds[place - 1]]
    assert runs[:3] == ["old", "new", "old"]
    assert abs(track.called.count("old") - track.called.count("new")) <= 2


def test_time_is_kept() -> None:
    track = Track()
    found = track.race(0.1, 0.1003, seconds=10)
    assert track.now < 12
    assert found.rounds >= 2


def test_ctrl_c_gives_what_is_there() -> None:
    track = Track()
    found = track.race(0.1, 0.1, seconds=1000, stops_at=300)
    assert found.rounds >= 1
    assert INTERRUPTED in found.step.reason


def test_ctrl_c_before_a_round_is_over() -> None:
    found = Track().race(0.1, 0.1, stops_at=5)
    assert (found.rounds, found.step.verdict) == (0, "cannot tell")
    assert found.text().startswith("From old to new it cannot be told")


@pytest.mark.parametrize("given", [{}, {"a": print}, {"a": print, "b": 3}, [print, print]])
def test_what_cannot_be_raced(given: object) -> None:
    with pytest.raises(ValueError, match="give two callables by name"):
        race(given)  # type: ignore[arg-type]
