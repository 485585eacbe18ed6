"""The timeline of several workers: their devices have tracks of their own, though they have the same names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.sketches import profile_of
from tfprof_widget import merge

BOTH = merge({"slow": profile_of("a = MatMul() 50us\nb = Relu(a) 3us"), "fast": profile_of("a = MatMul() 10us;20us")})


def events(path: Path, **options: Any) -> list[dict[str, Any]]:
    (written,) = BOTH.view("graph", max_depth=9, **options).write_timeline(path)
    told: list[dict[str, Any]] = json.loads(Path(written).read_text(encoding="utf-8"))["traceEvents"]
    return told


def names(told: list[dict[str, Any]]) -> dict[int, str]:
    return {event["pid"]: event["args"]["name"] for event in told if event["name"] == "process_name"}


def test_each_worker_has_a_track_for_each_device(tmp_path: Path) -> None:
    told = events(tmp_path / "both.json")
    assert sorted(names(told).values()) == ["fast · CPU:0", "slow · CPU:0"]
    ran = {(names(told)[event["pid"]], event["name"], event["dur"]) for event in told if event["ph"] == "X"}
    fast, slow = "fast · CPU:0", "slow · CPU:0"
    assert ran == {(fast, "a", 10), (fast, "a", 20), (slow, "a", 50), (slow, "b", 3)}


def test_arrows_stay_on_the_tracks_of_their_worker(tmp_path: Path) -> None:
    told = events(tmp_path / "both.json")
    ends = [event for event in told if event["ph"] in "sf"]
    assert {names(told)[event["pid"]] for event in ends} <= {"slow · CPU:0"}


def test_one_file_a_step_has_all_workers_of_it(tmp_path: Path) -> None:
    written = BOTH.view("graph", max_depth=9).write_timeline(tmp_path / "{step}.json")
    assert [Path(name).name for name in written] == ["0.json", "1.json"]
