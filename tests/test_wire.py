"""The columns on their way to the browser, read back here as docs/wire.md says they lie."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tfprof_widget.demo import demo_profile
from tfprof_widget.profiles import Profile
from tfprof_widget.wire import encoded

KINDS = {"indices": "<i4", "numbers": "<f8"}


def read_back(content: bytes) -> dict[str, Any]:
    (length,) = struct.unpack_from("<Q", content)
    columns = {}
    for name, (kind, position, size) in json.loads(content[8 : 8 + length]).items():
        start = 8 + length + position
        assert start % 8 == 0
        part = content[start : start + size]
        columns[name] = json.loads(part) if kind == "texts" else np.frombuffer(part, KINDS[kind])
    return columns


@pytest.fixture(scope="module")
def profile() -> Profile:
    return demo_profile()


@pytest.fixture(scope="module")
def columns(profile: Profile) -> dict[str, Any]:
    return read_back(encoded(profile))


def test_nodes_and_totals_are_those_of_the_profile(profile: Profile, columns: dict[str, Any]) -> None:
    assert columns["nodes.names"] == list(profile.nodes.names)
    assert columns["nodes.op"].tolist() == profile.nodes.op.tolist()
    assert columns["nodes.float_ops"].tolist() == profile.nodes.float_ops.tolist()
    assert columns["nodes.inputs.start"].tolist() == profile.nodes.inputs.start.tolist()
    assert columns["step_totals.cpu_nanos"].tolist() == profile.step_totals.cpu_nanos.tolist()
    assert columns["steps"].tolist() == [0]


def test_starts_count_from_the_first_of_the_step(profile: Profile, columns: dict[str, Any]) -> None:
    starts = profile.executions.start_nanos
    assert columns["executions.start_nanos"].min() == 0
    assert columns["executions.start_nanos"].tolist() == (starts - starts.min()).tolist()


def test_execution_without_a_start_is_told_apart(profile: Profile) -> None:
    nanos = profile.executions.start_nanos.copy()
    nanos[3] = 0
    timeless = replace(profile, executions=replace(profile.executions, start_nanos=nanos))
    assert read_back(encoded(timeless))["executions.start_nanos"].tolist().index(-1) == 3


def test_shapes_are_written_out(columns: dict[str, Any]) -> None:
    assert "64x784" in columns["nodes.shapes"]


def test_names_that_no_text_can_hold_survive(profile: Profile) -> None:
    strange = "layer\udcff/\u2028\0"
    names = (strange, *profile.nodes.names[1:])
    assert read_back(encoded(replace(profile, nodes=replace(profile.nodes, names=names))))["nodes.names"][0] == strange


def test_profile_of_nothing_has_all_columns(columns: dict[str, Any]) -> None:
    assert read_back(encoded(Profile.from_protos(b""))).keys() == columns.keys()
