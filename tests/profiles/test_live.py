"""What is told of a running capture is small, survives JSON, and is read whatever somebody else has written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.jobs_told import TRAINING
from tfprof_widget.profiles.cell import CELL_PARTS
from tfprof_widget.profiles.live import MOST_NOTES, MOST_OPS, MOST_STEPS, LiveState, TaskState

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
NAMES = (*vars(LiveState()), *vars(TaskState(LiveState())))


def test_a_state_is_written_with_the_names_of_the_parts() -> None:
    told = json.loads(json.dumps(TRAINING.to_json()))
    assert told["parts"] == {"first": 10.0, "steps": 40.0, "python": 30.0, "input": 20.0}
    assert told["costliest"] == [["MatMul", 0.05], ["Relu", 0.01]]
    assert (told["phase"], told["steps"], told["strip"][3]) == ("running", 312, 0.25)
    assert LiveState.of_json(told) == TRAINING


def test_a_task_is_told_beside_its_capture() -> None:
    task = TaskState(TRAINING, "sweep", "worker-1", 71, "node", 1000.0, 1100.0, 5.0, "failed", 1, "ValueError: no data")
    told = json.loads(json.dumps(task.to_json()))
    assert (told["job"], told["status"], told["exit_code"], told["steps"]) == ("sweep", "failed", 1, 312)
    assert TaskState.of_json(told) == task


def test_a_state_stays_small_whatever_the_names_are() -> None:
    """Some 200 steps, 8 op types and 8 notes of 400 characters each are the most."""
    endless = LiveState(
        what="w" * 10**6,
        kind="k" * 10**6,
        strip=(1 / 3,) * 10**5,
        parts=dict.fromkeys((*CELL_PARTS, "x" * 10**6), 1 / 7),
        costliest=(("o" * 10**6, 1 / 3),) * 1000,
        notes=("n" * 10**6,) * 1000,
    )
    told = endless.to_json()
    assert len(told["strip"]) == MOST_STEPS
    assert len(told["costliest"]) == MOST_OPS
    assert len(told["notes"]) == MOST_NOTES
    assert tuple(told["parts"]) == CELL_PARTS
    assert len(json.dumps(TaskState(endless, job="j" * 10**6, task="t" * 10**6).to_json()).encode()) < 12_000


def test_the_last_steps_are_kept_of_many() -> None:
    told = LiveState(strip=tuple(map(float, range(MOST_STEPS + 50)))).to_json()
    assert told["strip"][0] == 50
    assert told["strip"][-1] == MOST_STEPS + 49


def test_numbers_that_json_has_not_are_nothing() -> None:
    told = LiveState(seconds=float("inf"), step_seconds=float("nan")).to_json()
    assert json.loads(json.dumps(told, allow_nan=False))["seconds"] == 0


@given(st.dictionaries(st.sampled_from(NAMES), JSON))
def test_any_object_is_read_and_what_was_read_is_written_again(told: dict[str, Any]) -> None:
    task = TaskState.of_json(told)
    again = json.dumps(task.to_json(), allow_nan=False)
    assert TaskState.of_json(json.loads(again)).to_json() == json.loads(again)


@pytest.mark.parametrize("told", [None, [], "running", 7])
def test_what_is_no_object_is_refused(told: Any) -> None:
    with pytest.raises(ValueError, match="no state of a capture"):
        TaskState.of_json(told)


@pytest.mark.parametrize(
    ("status", "later", "seen"),
    [("running", 30.0, "running"), ("running", 30.1, "silent"), ("ended", 1e6, "ended"), ("failed", 1e6, "failed")],
)
def test_a_task_is_silent_after_three_of_its_intervals(status: Any, later: float, seen: str) -> None:
    task = TaskState(TRAINING, updated=1000.0, interval=10.0, status=status)
    assert task.status_at(1000.0 + later) == seen
