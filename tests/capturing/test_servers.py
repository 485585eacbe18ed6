"""The servers of a coordinator are recorded, in bounded time, and what is missing is said."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.analysis.cluster.real import serving
from tests.capturing.coordinator import COLUMNS, ROWS, STEPS
from tests.forked import process
from tfprof_widget.capturing import servers
from tfprof_widget.capturing.servers import Servers, server_addresses
from tfprof_widget.lib.messages import XSpace

ADDRESSES = {"ps 0": "127.0.0.1:1", "worker 0": "127.0.0.1:2"}


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What a coordinator with two workers and a parameter server captured."""
    with serving(worker=2, ps=1) as cluster, process("tests.capturing.coordinator", json.dumps(cluster)) as one:
        lines = [line for line in one.stdout if line.startswith("{")]
        found: dict[str, Any] = json.loads(lines[-1])
        return found


def test_steps_that_servers_ran_are_recorded(told: dict[str, Any]) -> None:
    assert told["shown"] == "step"
    (steps,) = [each for each in told["runs"] if each[0] == "step"]
    assert steps[1] == STEPS
    assert 0 < steps[2] <= STEPS


def test_each_server_is_a_task_that_worked(told: dict[str, Any]) -> None:
    busy = told["busy"]
    assert set(busy) >= {"ps 0", "worker 0", "worker 1"}
    assert min(busy[task] for task in ("ps 0", "worker 0", "worker 1")) > 0


def test_ops_are_joined_with_the_functions_of_the_coordinator(told: dict[str, Any]) -> None:
    """With their scopes, their lines, and float operations from their shapes: 2 x 64 x 300 x 300 of the product."""
    assert told["float_ops"] == 2 * ROWS * COLUMNS * COLUMNS
    assert [line for line in told["lines"] if "coordinator.py" in line and ":step" in line]
    assert not [name for name in told["nodes"] if "EagerService" in name]
    assert not [each for each in told["warnings"] if "missing" in each or "nothing of" in each]


def test_a_process_that_is_no_coordinator_has_no_servers() -> None:
    assert server_addresses() == {}


def steps_with(monkeypatch: pytest.MonkeyPatch, trace: Callable[..., None]) -> Any:
    """A capture of a coordinator whose servers are recorded by `trace`; functions run in this process."""
    monkeypatch.setattr(servers, "server_addresses", lambda: ADDRESSES)
    monkeypatch.setattr(servers, "import_module", lambda name: SimpleNamespace(trace=trace))
    monkeypatch.setattr(servers, "PATIENCE_SECONDS", 0.0)
    square = tf.function(lambda x: tf.square(x))
    with tfprof.capture() as prof:
        for _ in range(5):
            square(tf.ones([4]))
    return prof


def test_servers_that_cannot_be_asked_are_named_and_nothing_counts_as_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*asked: Any, **named: Any) -> None:
        raise RuntimeError("no profiler service")

    prof = steps_with(monkeypatch, refuse)
    (runs,) = [each for each in prof.measurement.runs if each.name == "<lambda>"]
    assert (runs.seen, runs.traced) == (5, 0)
    notes = "\n".join(prof.recorded.warnings)
    assert "what ps 0, worker 0 did is missing, for TensorFlow got no recording of it (" in notes
    assert "no profiler service" in notes
    assert "nothing of '<lambda>' was recorded on the servers that run it" in notes


def test_a_server_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other's recording, which came, is read; what comes after the end is removed."""
    answered, cleaned = threading.Event(), []

    def half(services: str, directory: str, milliseconds: int, **named: Any) -> None:
        assert services == "grpc://127.0.0.1:1,grpc://127.0.0.1:2"
        assert milliseconds <= servers.LONGEST_SECONDS * 1000
        Path(directory, "127.0.0.1_1.xplane.pb").write_bytes(XSpace().SerializeToString())
        answered.wait(60)
        Path(directory).mkdir(exist_ok=True)
        cleaned.append(directory)

    prof = steps_with(monkeypatch, half)
    (asking,) = [each for each in threading.enumerate() if each.name == servers.THREAD]
    answered.set()
    asking.join()
    assert [note for note in prof.recorded.warnings if note.startswith("what worker 0 did is missing")]
    assert not [note for note in prof.recorded.warnings if "what ps 0" in note]
    assert not Path(cleaned[0]).exists()


def test_a_damaged_recording_costs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(services: str, directory: str, milliseconds: int, **named: Any) -> None:
        for port in (1, 2):
            Path(directory, f"127.0.0.1_{port}.xplane.pb").write_bytes(b"truncated" if port == 1 else b"")

    notes = steps_with(monkeypatch, damaged).recorded.warnings
    assert [note for note in notes if note.startswith("what ps 0 did is missing: ps 0: these 9 bytes are no XSpace")]
    assert not [note for note in notes if "worker 0 did" in note]


def test_servers_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    client = SimpleNamespace(trace=lambda services, *arguments, **named: asked.append(services))
    monkeypatch.setattr(servers, "server_addresses", lambda: ADDRESSES)
    monkeypatch.setattr(servers, "import_module", lambda name: client)
    one = Servers(lambda note: None)
    for _ in range(3):
        one.record(0.001)
    one.end()
    assert asked == ["grpc://127.0.0.1:1,grpc://127.0.0.1:2"]
