"""The stages of tf.data on recordings worked out by hand: order, work for a batch, and what holds steps up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.analysis.advisor.findings import on_cpu, ran
from tfprof_widget.analysis.account.pipeline import pipeline_stages
from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.program import DataFunction, StageSettings

ROOT, BATCH, MAP = "tf.data/Root", "tf.data/Root/Batch", "tf.data/Root/Batch/Map"
OPS = {
    ROOT: "Root",
    BATCH: "Batch",
    MAP: "Map",
    "tf.data/map_slow/Tanh": "Tanh",
    "next": "IteratorGetNext",
    "dense": "MatMul",
}
LINE = CodeLine("/home/me/train.py", 7, "slow")
BATCHES, ELEMENTS = 4, 2


def fed(work: int, *, waited: int = 900) -> Profile:
    """Four steps of 1 ms, each with a batch of two elements, for each of which the map works so many microseconds."""
    rows = []
    for batch in range(BATCHES):
        at = 1000 + 1000 * batch
        rows += [(ROOT, at, waited), (BATCH, at, 20), ("next", at, waited), ("dense", at + waited, 1000 - waited)]
        for element in range(ELEMENTS):
            start = at + element * work
            rows += [(MAP, start, work), ("tf.data/map_slow/Tanh", start, work - 10)]
    profile = ran(OPS, on_cpu(*rows), step_names=["train"])
    functions = (DataFunction("Map", "slow", "tf.data/map_slow", LINE),)
    return replace(profile, main_kind="train", pipelines=(functions,), data_stages=(StageSettings(MAP, parallelism=3),))


def test_stages_are_in_order_with_their_functions_lines_and_settings() -> None:
    frame = fed(400).input_pipeline()
    assert frame["stage"].tolist()[-2:] == ["Batch", "Map(slow)"]
    (row,) = frame[frame["stage"] == "Map(slow)"].to_dict("records")
    assert (row["line"], row["elements"], row["parallelism"]) == ("train.py:7", 2.0, 3)
    assert row["seconds"] == pytest.approx(800e-6)


def test_the_slowest_stage_holds_steps_up_that_wait() -> None:
    """It works for a millisecond, a quarter of the recording, of which 3.6 ms are waited."""
    assert [stage.node for stage in pipeline_stages(fed(500)) if stage.is_bottleneck] == [MAP]


def test_a_stage_that_works_for_a_moment_holds_nothing_up() -> None:
    assert not [stage for stage in pipeline_stages(fed(30)) if stage.is_bottleneck]


def test_steps_that_do_not_wait_are_held_up_by_nothing() -> None:
    assert not [stage for stage in pipeline_stages(fed(500, waited=1)) if stage.is_bottleneck]


def test_without_tf_data_there_are_no_stages() -> None:
    assert pipeline_stages(ran({"dense": "MatMul"}, on_cpu(("dense", 1000, 10)))) == []
