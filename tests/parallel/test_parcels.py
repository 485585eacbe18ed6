"""What was recorded comes out of a parcel as it went in, without what belongs to one process only."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import fields, replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.made import profile_of_tables
from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.parallel.errands import packed, unpacked
from tfprof_widget.profiles.options import VIEWS
from tfprof_widget.profiles.tables import Checkpoint

SKETCH = """
    w = VariableV2() 1us 4x8 +_trainable_variables | a.py:1:main
    x = MatMul(w) 4us+300ns;-;6us 64B 8flops | a.py:1:main > b.py:7:layer
"""
RUNS = (KindOfRun("train", seen=9, traced=3, untraced_seconds=3.0, traced_seconds=4.0, warm_up_seconds=8.0),)


def travelled(profile: Profile) -> Profile:
    recorded = Recording((GraphRecording(profile, RUNS),), 1.5, None, 2, ("a note",))
    back = unpacked(packed(recorded))
    assert replace(back, graphs=()) == replace(recorded, graphs=())
    (graph,) = back.graphs
    assert graph.kinds == RUNS
    return profile_of_tables(graph.tables)


def test_every_view_is_the_same_on_the_other_side() -> None:
    profile = profile_of(SKETCH)
    back = travelled(profile)
    for view in VIEWS:
        assert back.view(view, min_micros=1).text() == profile.view(view, min_micros=1).text()
    assert back.graphs[0].SerializeToString() == profile.graphs[0].SerializeToString()


def test_every_column_travels() -> None:
    profile = profile_of(SKETCH)
    back = travelled(profile)
    for table in fields(Profile):
        before, after = getattr(profile, table.name), getattr(back, table.name)
        if hasattr(before, "__dataclass_fields__"):
            for column in fields(before):
                one, other = getattr(before, column.name), getattr(after, column.name)
                assert isinstance(one, type(other))
                if isinstance(one, np.ndarray):
                    assert (one.dtype, one.tolist()) == (other.dtype, other.tolist()), column.name


def test_what_was_computed_and_open_files_stay_behind() -> None:
    def value(name: str) -> Any:
        raise AssertionError("it is read where the file is")

    profile = replace(profile_of(SKETCH), checkpoint=Checkpoint("model.ckpt", {}, {}, value))
    before = len(packed(Recording((GraphRecording(profile, RUNS),), 0.0, 0.0, 0, ())))
    profile.view("code", order_by="micros").text()
    assert len(packed(Recording((GraphRecording(profile, RUNS),), 0.0, 0.0, 0, ()))) == before
    assert travelled(profile).checkpoint is None


def test_frames_of_another_process_are_not_of_this_one() -> None:
    profile = profile_of(SKETCH)
    # Of frames that live here the files are opened here: those of an engine may name any file of this machine.
    live = replace(profile, traces=replace(profile.traces, live=frozenset({0, 1})))
    assert travelled(live).traces.live == frozenset()


def test_a_cell_of_another_kernel_has_no_number_of_its_process() -> None:
    profile = profile_of(SKETCH)
    cell = os.path.join(tempfile.gettempdir(), f"ipykernel_{os.getpid()}", "123.py")  # noqa: PTH118
    strings = tuple(cell if text == "a.py" else text for text in profile.traces.strings)
    told = travelled(replace(profile, traces=replace(profile.traces, strings=strings))).traces.strings
    assert "ipykernel/123.py" in told
    assert cell not in told
    assert {"b.py", "main", "layer"} <= set(told)


def test_messages_travel_whatever_other_modules_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pickle itself would ask every module for a message's class, and some fail when they are asked for anything."""
    failing = ModuleType("failing")

    def fail(name: str) -> Any:
        raise ImportError(f"{name} needs what is not installed")

    failing.__getattr__ = fail  # type: ignore[method-assign]
    asked_later = {name: module for name, module in sys.modules.items() if name.startswith(("tests", "tfprof_widget"))}
    for name in asked_later:
        monkeypatch.delitem(sys.modules, name)
    for name, module in ({"failing": failing} | asked_later).items():
        monkeypatch.setitem(sys.modules, name, module)
    assert travelled(profile_of(SKETCH)).graphs[0].node[0].name == "w"
