"""What is said when a loop is over."""

from __future__ import annotations

import pytest

from tfprof_widget.capturing.schedule import Schedule
from tfprof_widget.profile_context import shortcomings


def after(runs: int, schedule: Schedule) -> Schedule:
    for _ in range(runs):
        schedule.next(["train"])
    return schedule


@pytest.mark.parametrize(
    "schedule", [Schedule(range(10, 20), [20]), Schedule(None, None), Schedule([], []), Schedule([1, 200], [])]
)
def test_nothing_is_said_of_what_went_well(schedule: Schedule) -> None:
    assert list(shortcomings(after(101, schedule), [], [15, 100], [])) == []


def test_no_session() -> None:
    (told,) = shortcomings(Schedule([1], [2]), [], [1], [])
    assert told == (
        "no session ran in this ProfileContext, so there is nothing in it; "
        "for functions, Keras and eager code use `with tfprof_widget.capture()`"
    )


def test_too_few_steps_for_the_default() -> None:
    (told,) = shortcomings(after(11, Schedule(None, None)), [], [], [])
    assert told == (
        "without trace_steps the first 11 runs are not traced, and there were no others; "
        "give trace_steps, such as range(10)"
    )


def test_ended_before_anything_was_traced() -> None:
    (told,) = shortcomings(after(10, Schedule(range(10, 20), [])), [], [], [])
    assert told == "the loop ended with step 9, before any step that was to be traced: steps 10, 11, 12 … and 7 more"


def test_ended_before_the_dump() -> None:
    (told,) = shortcomings(after(15, Schedule(range(10, 20), [12, 20])), [], [], ["/tmp/profile_14"])
    assert told == (
        "the loop ended with step 14, before the profile was to be dumped at step 20; "
        "what was traced is in /tmp/profile_14"
    )


def test_ended_before_the_dump_with_nothing_to_dump() -> None:
    (told,) = shortcomings(after(15, Schedule([], [20, 30])), [], [], [])
    assert told == (
        "the loop ended with step 14, before the profile was to be dumped at steps 20, 30; "
        "nothing was traced that is not in an earlier file"
    )


def test_ended_before_a_view() -> None:
    (told,) = shortcomings(after(17, Schedule([15, 18, 20], [])), [], [20, 18, 15, 20], [])
    assert told == "the loop ended with step 16, before a view was to be shown at steps 18, 20"


def test_runs_that_cannot_be_traced() -> None:
    (told,) = shortcomings(after(17, Schedule([15], [])), ["TensorFlow gives partial_run no metadata"], [], [])
    assert told == "some runs were not traced: TensorFlow gives partial_run no metadata"
