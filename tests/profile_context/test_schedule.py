"""Which steps are traced and dumped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tfprof_widget.capturing.schedule import Schedule, checked_steps


def traced(schedule: Schedule, runs: Sequence[str]) -> list[int]:
    return [due.step for run in runs if (due := schedule.next([run])).traced]


def dumped(schedule: Schedule, runs: Sequence[str]) -> list[int]:
    return [due.step for run in runs if (due := schedule.next([run])).dumped]


def test_steps_asked_for() -> None:
    assert traced(Schedule(range(10, 20, 3), []), ["train"] * 30) == [10, 13, 16, 19]
    assert dumped(Schedule([], {20, 5}), ["train"] * 30) == [5, 20]


def test_next_step() -> None:
    schedule = Schedule([], [])
    schedule.trace_next()
    assert traced(schedule, ["train"] * 2) == [0]
    schedule.dump_next()
    assert dumped(schedule, ["train"] * 2) == [2]


def test_without_steps_runs_of_each_kind_are_traced_once_from_the_eleventh_step_on() -> None:
    schedule = Schedule(None, [])
    schedule.coverage = 1.0
    assert traced(schedule, ["initialize", *["train"] * 19, "evaluate", *["train"] * 9, "evaluate"]) == [11, 20]


def test_without_steps_more_are_traced_until_half_of_the_graph_was_seen() -> None:
    schedule = Schedule(None, None)
    early = traced(schedule, ["train"] * 101)
    assert early[0] == 11
    assert 5 < len(early) < 40  # a fifth of 89 is 18
    assert early == traced(Schedule(None, None), ["train"] * 101)
    assert traced(schedule, ["train"] * 1000) == []


def test_without_steps_at_most_a_hundred_are_traced() -> None:
    assert len(traced(Schedule(None, None), [f"fetch {number}" for number in range(500)])) == 100


def test_without_steps_dump_at_the_hundredth() -> None:
    assert dumped(Schedule(None, None), ["train"] * 300) == [100]


def test_steps_for_views_are_traced_too() -> None:
    schedule = Schedule([], [])
    schedule.trace({3, 5})
    assert traced(schedule, ["train"] * 9) == [3, 5]


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (20, r"trace_steps: 20 is no list of steps; give \[20\] or range\(10, 20\)"),
        ([-1], "trace_steps: step is -1, but must be at least 0"),
        (["ten"], "trace_steps: step is 'ten'"),
        (range(101), "trace_steps: 101 are more than the 100 that are kept; leave some out"),
    ],
)
def test_bad_steps(steps: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Schedule(steps, [])


def test_any_collection_of_steps() -> None:
    assert checked_steps("trace_steps", iter((1, 2, 1))) == {1, 2}
