"""The columns on their way to the browser, read back here as docs/wire.md says they lie."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.analysis.cluster.clusters import PS0, WORKER0, Came, Ran
from tests.analysis.cluster.clusters import profile_of as cluster_profile
from tests.output.test_account import captured
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.profiles.cell import FIRST_RUN, RAISED, TRACED, CellRuns, FitPhase, PhaseStretches
from tfprof_widget.profiles.tables import Transfers
from tfprof_widget.widget.shown import ShownGraph
from tfprof_widget.widget.wire import MOST_RUNS, encoded

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


def moved(starts: list[int]) -> Transfers:
    """A tensor of the first node that went from one task to another, once at each of these times."""
    rows = np.zeros(len(starts), np.int32)
    return Transfers(
        devices=("/job:ps/task:0/cpu:0", "/job:worker/task:0/cpu:0"),
        tensors=("edge_4_weights",),
        kinds=("RecvTensor",),
        step=rows,
        kind=rows,
        source=rows,
        target=rows + 1,
        tensor=rows,
        node=rows,
        start_nanos=np.array(starts, np.int64),
        duration_nanos=np.full(len(starts), 70),
        bytes=np.full(len(starts), 4096),
    )


def test_transfers_are_those_of_the_profile(profile: Profile) -> None:
    began = int(profile.executions.start_nanos.min())
    columns = read_back(encoded(replace(profile, transfers=moved([began + 30, 0]))))
    assert columns["transfers.devices"][columns["transfers.target"][0]] == "/job:worker/task:0/cpu:0"
    assert columns["transfers.start_nanos"].tolist() == [30, -1]
    assert columns["transfers.bytes"].tolist() == [4096, 4096]


def test_step_starts_with_its_first_transfer_too(profile: Profile) -> None:
    began = int(profile.executions.start_nanos.min())
    columns = read_back(encoded(replace(profile, transfers=moved([began - 500]))))
    assert columns["transfers.start_nanos"].tolist() == [0]
    assert columns["executions.start_nanos"].min() == 500


def test_starts_of_tasks_are_by_one_clock() -> None:
    """The worker's clock is 1,000 us ahead: a tensor each way, as soon as it is made, leaves no other offset."""
    to_worker = [Ran(PS0, "p", 1, 1), Came(WORKER0, "p", PS0, 1001, 1)]
    from_worker = [Ran(WORKER0, "q", 1001, 2), Came(PS0, "q", WORKER0, 2, 1)]
    exhibited = ShownGraph("cluster", cluster_profile([*to_worker, *from_worker]))
    columns = read_back(exhibited.to_browser["columns"])
    assert columns["nodes.names"] == ["p", "q"]
    starts = dict(zip(columns["executions.node"].tolist(), columns["executions.start_nanos"].tolist(), strict=True))
    assert starts == {0: 0, 1: 0}
    assert sorted(columns["transfers.start_nanos"].tolist()) == [0, 1000]
    tasks = {task["task"]: task["offset_nanos"] for task in exhibited.to_browser["cluster"]["tasks"]}
    assert tasks == {PS0: 0, WORKER0: 1_000_000}


def test_one_process_has_no_cluster(profile: Profile) -> None:
    assert ShownGraph("demo", profile).to_browser["cluster"] is None


def test_workers_of_the_steps_are_told(profile: Profile) -> None:
    assert read_back(encoded(profile))["step_workers"] == []
    assert read_back(encoded(replace(profile, step_workers=("before",))))["step_workers"] == ["before"]


def test_shapes_are_written_out(columns: dict[str, Any]) -> None:
    assert "64x784" in columns["nodes.shapes"]


def test_names_that_no_text_can_hold_survive(profile: Profile) -> None:
    strange = "layer\udcff/\u2028\0"
    names = (strange, *profile.nodes.names[1:])
    assert read_back(encoded(replace(profile, nodes=replace(profile.nodes, names=names))))["nodes.names"][0] == strange


def test_nodes_on_the_critical_path_are_those_that_python_tells(profile: Profile) -> None:
    columns = read_back(ShownGraph("demo", profile).to_browser["columns"])
    flagged = {name for name, steps in zip(columns["nodes.names"], columns["critical.on_path"], strict=True) if steps}
    assert flagged == set(profile.critical_path()["name"])
    slack = dict(zip(columns["nodes.names"], columns["critical.slack_micros"].tolist(), strict=True))
    beside = profile.slack().groupby("name")["slack"].min().round()
    assert {name: slack[name] for name in beside.index} == beside.to_dict()
    assert columns["critical.steps"].tolist() == [1]


def test_a_profile_that_cannot_be_replayed_tells_of_no_path() -> None:
    columns = read_back(ShownGraph("none", Profile.from_protos(b"")).to_browser["columns"])
    assert not [name for name in columns if name.startswith("critical.")]


def test_profile_of_nothing_has_all_columns(columns: dict[str, Any]) -> None:
    assert read_back(encoded(Profile.from_protos(b""))).keys() == columns.keys()


def test_without_a_cell_nothing_is_told_of_one(columns: dict[str, Any]) -> None:
    assert not [name for name in columns if name.startswith(("cells.", "runs.", "phases.", "calls.", "looks."))]


def test_what_went_on_in_a_cell_is_told_from_its_start_to_its_end() -> None:
    """The sampler looked at 0, 1, 2 and 3 s, but at 0 to 3 s and at 4 s a run went on, and from 5 to 6 s another."""
    profile = captured(FitPhase("step", 3_000_000_000, 2))
    cell = replace(profile.cells[0], stretches=PhaseStretches.of([0], [7_000], [2_000]))
    columns = read_back(encoded(replace(profile, cells=(cell,))))
    assert columns["cells.parts"][columns["looks.part"][0]] == "input"
    assert columns["cells.nanos"].tolist() == [10_000_000_000]
    assert columns["cells.step_cell"].tolist() == [0]
    assert columns["cells.step_start"].tolist() == [4_000_000_000]  # its clock is another one, so it is put in its run
    assert columns["runs.step"].tolist() == [-1, 0, -1]
    assert columns["runs.mark"].tolist() == [FIRST_RUN, TRACED, RAISED]
    assert columns["runs.start"].tolist() == [0, 4_000_000_000, 5_000_000_000]
    assert columns["runs.end"].tolist() == [3_000_000_000, 4_002_000_000, 6_000_000_000]
    assert (columns["phases.names"], columns["phases.start"].tolist()) == (["step"], [7_000])
    frame = columns["calls.frame"][columns["looks.call"][0]]
    assert columns["frames.source"][frame] == -1  # of a library
    assert columns["frames.line"][columns["calls.frame"]].tolist() == [7, 9, 300]
    assert columns["calls.above"].tolist() == [-1, -1, 1]
    assert columns["calls.python"].tolist() == [2_000_000_000, 0, 1_000_000_000]
    assert columns["calls.input"].tolist() == [0, 0, 1_000_000_000]
    assert columns["looks.start"].tolist() == [3_000_000_000]
    assert columns["looks.nanos"].tolist() == [1_000_000_000]


def test_of_very_many_runs_several_are_one_row() -> None:
    profile = captured()
    runs = CellRuns.of("train", range(0, 9_000_000, 1_000), [500] * 9_000, {0: FIRST_RUN, 5_000: TRACED})
    columns = read_back(encoded(replace(profile, cells=(replace(profile.cells[0], runs=(runs,)),))))
    assert len(columns["runs.start"]) <= MOST_RUNS
    assert columns["runs.count"].sum() == 9_000
    assert columns["runs.nanos"].sum() == pytest.approx(4_500_000, rel=0.1)  # rounded to microseconds
    assert columns["runs.count"][columns["runs.mark"] > 0].tolist() == [1, 1]
