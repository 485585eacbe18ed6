"""The account as JSON: what the methods of the API tell, the answer first, never longer than asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.analysis.advisor.findings import on_cpu, ran
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.output.account_json import LIMIT_BYTES, SCHEMA, VERSION
from tfprof_widget.profiles.cell import (
    CELL_PARTS,
    FIRST_RUN,
    CellRuns,
    CellTimes,
    CodeLine,
    FitPhase,
    PythonLooks,
    PythonTime,
)
from tfprof_widget.profiles.tables import Lists

SECOND = 10**9
LINES = tuple(CodeLine("/home/me/train.py", line, "main", f"work({line})") for line in range(1, 2001))


def captured(lines: int = 2) -> Profile:
    """A cell of 10 s: a first step of 4 s, two of 1 s, and 4 s of Python at some lines, the later the longer."""
    nanos = np.arange(1, lines + 1, dtype=np.int64)
    nanos = nanos * (4 * SECOND) // nanos.sum()
    looks = PythonLooks(
        LINES[:lines],
        Lists.of([[line] for line in range(lines)]),
        np.cumsum(nanos),
        nanos,
        np.arange(lines, dtype=np.int32),
        np.full(lines, CELL_PARTS.index("python"), np.int8),
        np.full(lines, ABSENT, np.int32),
    )
    runs = CellRuns.of("train", [0, 4, 5], [4 * SECOND, SECOND, SECOND], {0: FIRST_RUN}, usual_nanos=SECOND)
    parts = {"first": 4 * SECOND, "steps": 2 * SECOND, "python": 4 * SECOND}
    between = (PythonTime("python", 4.0, LINES[0].file, lines),)
    cell = CellTimes.of(parts, runs=(runs,), looks=looks, between=between, phases=(FitPhase("step", 6 * SECOND, 3),))
    profile = ran({"dense/MatMul": "MatMul"}, on_cpu(("dense/MatMul", 1000, 1000)), step_names=["train"])
    return replace(profile, main_kind="train", cells=(cell,))


def read(profile: Profile, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(profile.to_json(**options))
    return found


def test_it_says_what_the_methods_say() -> None:
    profile = captured()
    found, budget = read(profile), profile.time_budget()
    assert (found["schema"], found["version"]) == (SCHEMA, VERSION)
    assert found["budget"]["cell"] == budget.cell == pytest.approx({**budget.cell, "first": 4.0, "python": 4.0})
    assert sum(found["budget"]["cell"].values()) == pytest.approx(found["budget"]["cell_seconds"], abs=1e-6)
    assert sum(found["budget"]["step"].values()) == pytest.approx(found["budget"]["step_seconds"], abs=1e-6)
    assert found["steps"] == {
        "kind": "train",
        "count": 3,
        "recorded": 0,
        "first_seconds": 4.0,
        "median_seconds": 1.0,
        "slowest_seconds": 1.0,
    }
    lines = profile.python_lines()
    assert [row["seconds"] for row in found["python_lines"]] == pytest.approx(lines["seconds"].tolist(), abs=1e-9)
    assert [row["source"] for row in found["python_lines"]] == ["work(2)", "work(1)"]
    assert found["python_lines"][0]["share"] == pytest.approx(8 / 30, abs=1e-8)
    assert found["phases"] == [{"phase": "step", "seconds": 6.0, "share": 0.6, "times": 3, "file": "", "line": 0}]
    (op,) = found["ops"]
    assert op == {"op": "MatMul", "seconds": 0.001, "share": 1.0, "runs": 1.0, "float_ops": 0}
    (layer,) = [row for row in found["layers"] if row["seconds"]]
    assert (layer["layer"], layer["forward"], layer["share"]) == ("dense", 0.001, 1.0)
    causes = {row["checker"]: row["cause"] for row in found["advice"] if row["fix"]}
    assert "No step runs for 4 s of the cell's 10 s (40 %)" in causes["PythonChecker"]
    assert not found["cut"]


def test_layers_add_up_to_the_op_time_of_a_step() -> None:
    profile = demo_profile()
    found = read(profile)
    ops = sum(row["seconds"] for row in found["ops"])
    assert sum(row["seconds"] for row in found["layers"]) == pytest.approx(ops, abs=1e-9)
    passes = sum(row["forward"] + row["backward"] + row["update"] for row in found["layers"])
    assert passes == pytest.approx(ops, abs=1e-9)  # nothing waits for input or for another device here


@pytest.mark.parametrize("limit", [3_000, 10_000, LIMIT_BYTES])
def test_the_longest_list_loses_what_matters_least(limit: int) -> None:
    profile = captured(lines=2000)
    text = profile.to_json(limit_bytes=limit)
    assert limit - 1_000 < len(text.encode()) <= limit
    found, whole = json.loads(text), read(profile, limit_bytes=10**9)
    assert found["cut"]["python_lines"] == 2000 - len(found["python_lines"])
    for name, rows in whole.items():
        if isinstance(rows, list):
            assert found[name] == rows[: len(rows) - found["cut"].get(name, 0)]


def test_a_limit_below_the_budget_is_refused() -> None:
    with pytest.raises(ValueError, match=r"limit_bytes is 100, but the budget alone takes [\d,]+ bytes"):
        captured().to_json(limit_bytes=100)


def test_odd_names_and_numbers_are_json_all_the_same() -> None:
    line = CodeLine("/home/\udcff/é.py", 7, "<module>", "x" * 10_000)
    profile = captured(lines=1)
    (cell,) = profile.cells
    profile = replace(profile, cells=(replace(cell, looks=replace(cell.looks, lines=(line,))),))
    (row,) = read(profile)["python_lines"]
    assert row["file"] == line.file
    assert len(row["source"]) == 400


def test_what_is_missing_is_said() -> None:
    notes = [row["note"] for row in read(Profile.from_protos(b""))["notes"]]
    assert notes == ["no cell was captured: what surrounds the steps is not known", "no ops were recorded"]
