"""What a timeline shows of transfers: where, when, with which figures, and from where the arrows come."""

from __future__ import annotations

from pathlib import Path

from tests.analysis.cluster.clusters import PS0, WORKER0, Came, Ran, device, profile_of
from tests.output.trace_format import Event, read_trace
from tfprof_widget.api.profile import Profile

AHEAD = 5000
"""By how many microseconds the worker's clock is ahead."""

STEP = [
    *(Ran(PS0, "w", 100, 10), Came(WORKER0, "w", PS0, AHEAD + 110, 40, 4000)),
    *(Ran(WORKER0, "input", AHEAD + 100, 10), Ran(WORKER0, "grad", AHEAD + 150, 40)),
    *(Came(PS0, "grad", WORKER0, 190, 40, 4000), Ran(PS0, "train", 230, 10)),
]
"""Both transfers take 40 us by the true clock, so that this is 5 ms ahead, give or take 40 us."""


def trace_of(profile: Profile, directory: Path, **options: str) -> list[Event]:
    path = directory / "trace.json"
    assert profile.view("graph", **options).write_timeline(str(path)) == [str(path)]
    return read_trace(path.read_bytes())


def slices(events: list[Event]) -> dict[tuple[str, str], tuple[float, float]]:
    """Start and duration by name and kind."""
    return {(each["name"], each["cat"]): (each["ts"], each["dur"]) for each in events if each["ph"] == "X"}


def test_executions_and_transfers_are_on_one_clock(tmp_path: Path) -> None:
    assert slices(trace_of(profile_of(STEP), tmp_path)) == {
        ("w", "NoOp"): (0, 10),
        ("input", "NoOp"): (0, 10),
        ("w", "RecvTensor"): (10, 40),
        ("grad", "NoOp"): (50, 40),
        ("grad", "RecvTensor"): (90, 40),
        ("train", "NoOp"): (130, 10),
    }


def test_a_transfer_tells_its_bytes_its_rate_and_the_wait(tmp_path: Path) -> None:
    """4,000 bytes in 40 us; the server had nothing to do from 110 to 190."""
    args = {
        each["name"]: each["args"] for each in trace_of(profile_of(STEP), tmp_path) if each.get("cat") == "RecvTensor"
    }
    assert args["grad"] == {
        "from": device(WORKER0).lower(),
        "step": 0,
        "bytes": 4000,
        "bytes_per_second": 100_000_000,
        "wait_us": 80.0,
    }


def test_each_device_has_a_process_for_what_it_received(tmp_path: Path) -> None:
    events = trace_of(profile_of(STEP), tmp_path)
    names = [each["args"]["name"] for each in events if each["name"] == "process_name"]
    assert names == ["ps 0 · CPU:0", "worker 0 · CPU:0", "worker 0 · CPU:0 · received", "ps 0 · CPU:0 · received"]


def test_arrows_lead_from_what_made_a_tensor_to_its_transfer(tmp_path: Path) -> None:
    """The gradient is made from 50 to 90, so that its arrow leaves within; it meets the transfer when that begins."""
    events = [each for each in trace_of(profile_of(STEP), tmp_path) if each["name"] == "sent"]
    events.sort(key=lambda event: event["ts"])
    assert [(each["ph"], each["ts"]) for each in events] == [("s", 9.999), ("f", 10), ("s", 89.999), ("f", 90)]


def test_natives_timing_has_natives_timeline(tmp_path: Path) -> None:
    """It knows of no transfers, and takes clocks as they are."""
    found = slices(trace_of(profile_of(STEP), tmp_path, timing="tfprof"))
    assert {kind for _, kind in found} == {"NoOp"}
    assert found["grad", "NoOp"] == (5050, 40)
