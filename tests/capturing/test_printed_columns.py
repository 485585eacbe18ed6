"""What a capture prints has the columns of the devices that there are."""

from __future__ import annotations

import pytest

from tests.sketches import profile_of
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording

ON_CPU = "a = MatMul() 50us"
ON_GPU = "a = MatMul() 50us\nb = Relu() 30us @/gpu:0"
ALL = "node name | total execution time | accelerator execution time | cpu execution time"


def capture_of(sketch: str) -> Capture:
    runs = KindOfRun("", 1, 1, 0.0, 1.0, 0.0, untraced=0, warm_ups=0)
    return Capture.of(Recording((GraphRecording(profile_of(sketch), (runs,)),), 1.0, 0.0, 0, ()))


@pytest.mark.parametrize("view", ["scope", "graph", "op", "code"])
def test_where_there_are_but_cpus_their_time_is_all_of_it(view: str) -> None:
    told = capture_of(f"{ON_CPU} | a.py:1:main").text(view).splitlines()
    assert "node name | cpu execution time" in told
    assert "50us" in told[-1]


@pytest.mark.parametrize("view", ["scope", "graph", "op"])
def test_where_there_is_an_accelerator_its_time_is_told(view: str) -> None:
    assert ALL in capture_of(ON_GPU).text(view).splitlines()


def test_the_columns_that_the_user_asks_for_are_shown() -> None:
    capture = capture_of(ON_CPU)
    assert ALL in capture.text("op", select=["micros"]).splitlines()
    capture.options = {"select": ("micros",)}
    assert ALL in str(capture).splitlines()


def test_the_view_itself_has_all_columns() -> None:
    assert ALL in str(capture_of(ON_CPU).view("op")).splitlines()
